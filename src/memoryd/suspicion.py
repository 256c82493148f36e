"""Texts that read like instructions to the agent that finds them: a pure function over text, a hint and no proof."""


def reads_like_instructions(text: str) -> str:
    """What a text reads like where it seems to give orders to an agent; else ''."""
    return ""
