"""The threads of a service, which its clients get in turn."""

import time
from functools import partial

import anyio

from memoryd.server.threads import Threads, ThreadShare


async def hold(share: ThreadShare, name: str, begun: list[str], until: anyio.Event, *, writing: bool = False) -> None:
    async with share.writes if writing else share.reads:
        begun.append(name)
        await until.wait()


def test_a_flood_of_calls_leaves_threads_to_others() -> None:
    async def work() -> None:
        threads, begun, over = Threads(4), list[str](), anyio.Event()
        flood, other = ThreadShare(threads, 3), ThreadShare(threads, 3)
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(hold, flood, "flood", begun, over)
            await anyio.wait_all_tasks_blocked()
            assert begun == ["flood"] * 3
            tasks.start_soon(hold, other, "other", begun, over)
            await anyio.wait_all_tasks_blocked()
            assert begun == [*["flood"] * 3, "other"]
            over.set()
        assert (flood.running, flood.waiting, other.running) == (0, 0, 0)

    anyio.run(work)


def test_a_free_thread_goes_to_the_client_with_the_fewest() -> None:
    async def work() -> None:
        threads, begun = Threads(2), list[str]()
        shares = {name: ThreadShare(threads, 2) for name in "abc"}
        ends = [anyio.Event() for _ in range(8)]
        async with anyio.create_task_group() as tasks:
            for number, name in enumerate("aaaabcbc"):
                tasks.start_soon(hold, shares[name], name, begun, ends[number])
                await anyio.wait_all_tasks_blocked()
            assert begun == ["a", "a"]
            for end in ends[:2]:
                end.set()
            await anyio.wait_all_tasks_blocked()
            assert sorted(begun[2:]) == ["b", "c"]
            for end in ends:
                end.set()
        assert sorted(begun) == sorted("aaaabcbc")

    anyio.run(work)


def test_a_call_that_is_given_up_takes_no_thread() -> None:
    async def work() -> None:
        threads, begun, over = Threads(1), list[str](), anyio.Event()
        one, other = ThreadShare(threads, 1), ThreadShare(threads, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, one, "one", begun, over)
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as given_up:
                given_up.start_soon(hold, other, "never", begun, over)
                await anyio.wait_all_tasks_blocked()
                given_up.cancel_scope.cancel()
            assert other.waiting == 0
            tasks.start_soon(hold, other, "other", begun, over)
            await anyio.wait_all_tasks_blocked()
            over.set()
        assert begun == ["one", "other"]

    anyio.run(work)


def test_writers_of_many_clients_leave_threads_to_reads() -> None:
    async def work() -> None:
        threads, begun, over = Threads(4), list[str](), anyio.Event()
        shares = [ThreadShare(threads, 2) for _ in range(5)]
        async with anyio.create_task_group() as tasks:
            for share in shares:
                for _ in range(2):
                    tasks.start_soon(partial(hold, share, "write", begun, over, writing=True))
            await anyio.wait_all_tasks_blocked()
            assert begun == ["write"] * 3
            assert max(share.writes.running for share in shares) == 1, "a client's own reads find a thread, too"
            tasks.start_soon(hold, shares[0], "read", begun, over)
            await anyio.wait_all_tasks_blocked()
            assert begun[3:] == ["read"]
            over.set()
        assert len(begun) == 11
        assert (threads.free, threads.free_for_writers) == (4, 3)

    anyio.run(work)


def test_a_stalled_queue_predicts_long_waits() -> None:
    async def work() -> None:
        share, begun, over = ThreadShare(Threads(1), 1), list[str](), anyio.Event()
        assert share.reads.delay == 0
        async with anyio.create_task_group() as tasks:
            for _ in range(11):
                tasks.start_soon(hold, share, "read", begun, over)
            await anyio.wait_all_tasks_blocked()
            begin = time.monotonic()
            waited = time.monotonic() - begin
            assert share.reads.delay >= waited > 0, "none has begun since"
            assert share.writes.delay == 0
            over.set()
        assert share.reads.delay == 0

    anyio.run(work)
