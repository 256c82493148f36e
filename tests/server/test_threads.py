"""The threads of a service: its clients get them in turn."""

import anyio

from memoryd.server.threads import Threads, ThreadShare


async def hold(share: ThreadShare, name: str, begun: list[str], until: anyio.Event) -> None:
    async with share.reads:
        begun.append(name)
        await until.wait()


def test_one_that_floods_leaves_threads_to_others() -> None:
    async def work() -> None:
        threads, begun, over = Threads(4), list[str](), anyio.Event()
        flood, other = threads.share(3), threads.share(3)
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


def test_a_free_thread_goes_to_whom_has_fewest() -> None:
    async def work() -> None:
        threads, begun = Threads(2), list[str]()
        shares = {name: threads.share(2) for name in "abc"}
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
        one, other = threads.share(1), threads.share(1)
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
