"""The forms of orders to an agent in English, as regular expressions over lower-case text.

They are narrow on purpose: a team's rules, runbooks and notes about prompts use the same words. So a form needs what an
order to drop, hide or send something cannot do without: whose instructions, from whom, to which address.
"""

from collections.abc import Mapping

MEANINGS = {
    "AI": r"(?:an? |the |any |all )?(?:ai|llm|chat ?bot|language model|(?:ai )?(?:assistant|agent|model))s?\b",
    "ORDERS": r"(?:instructions?|directions?|directives?|prompts?|guidelines?|safety|rules|orders|constraints)\b",
    "KEPT": r"(?:memor(?:y|ies)|conversation|chat history|api keys?|credentials|passwords?|secrets|tokens|environment"
    r" variables|private keys?|~/\.ssh)\b",
    "TO": r"[^\n]{0,30}?(?:https?://|\w@\w|\bwebhook|\burl\b)",
    "AT": r"[^\n]{0,40}?(?:https?://|\w@\w)",
    "SOME": r"(?:\S{1,20}\s){0,3}?",
    "NEAR": r"[^.!?\n。！？।؟]{0,30}?",
    "DO": r"(?:please |now |i will |you (?:must|are|should|will|have to) )?(?:(?:do not|don't|never|always|now) )?"
    r"(?:approve|call|delete|execute|forget|ignore|obey|print|reveal|run|send|upload|ask|tell)\b",
    "START": r"^[ \t]{0,8}",
    "END": r"(?=\s*(?:[.!,;:?)。！，]|$))",
}
"""The meanings of the capitals between `%` in the forms."""

DROP, ROLE, PROMPT, TAG, CALL, TO_AI, CONCEAL, SEND, AUTHORITY = (
    "an order to drop instructions",
    "a new role",
    "talk about the system prompt",
    "a tag of a role",
    "a call of a tool",
    "an order to an AI",
    "an order to keep something from the user",
    "an order to send data away",
    "a claim to stand above the user",
)

Forms = Mapping[str, Mapping[str, str]]
"""For each description the forms, each after strings of which a text must contain one, so that few forms run."""

ENGLISH: Forms = {
    DROP: {
        "ignore, disregard, forget, override, bypass, discard": r"\b(?<!\bwe )(?<!\bthey )(?<!like [\"'])(?:ignore"
        r"|disregard|forget|override|bypass"
        r"|discard)\s%SOME%(?:previous|prior|above|earlier|your)\s%SOME%%ORDERS%",
        "ignore, disregard, forget, discard": r"\b(?:ignore|disregard|forget|discard) (?:everything|anything|all)"
        r" (?:above|you\b|that came before|before this)",
        "you were, you have been, you received, you got": r"\b(?:ignore|disregard|forget|discard) (?:all |any |of |the "
        r"|those ){0,3}%ORDERS% (?:that )?you (?:were|have been|received|got)\b",
        "attention to": r"\bpay no attention to %SOME%(?:previous|prior|above|earlier|your|the) %SOME%%ORDERS%",
        "instructions, directives, guidelines, orders, rules": r"\b(?:your|all) (?:previous |prior |earlier"
        r" ){1,2}(?:instructions|directives|guidelines|orders|rules) (?:are|have been|were|no longer) (?:now"
        r" )?(?:void|invalid|cancelled|canceled|revoked|replaced|suspended|superseded|no longer|appl)"
        r"|\b(?:previous|prior|above) instructions are (?:void|invalid|cancelled|no longer valid)",
        "follow, obey, comply": r"\b(?:not|never|don't|stop|refuse to) (?:follow|following|obey|obeying|comply"
        r" with) %SOME%(?:(?:the|of the) user(?:'s)?|your (?:\w{1,20} ){0,2}?%ORDERS%|(?:the )?system prompt)",
    },
    ROLE: {
        "you are now, you're now": r"\byou(?: are|'re) now (?:an? |the |in )?(?:\w{1,20} ){0,2}(?:mode|assistant"
        r"|agent|ai|model|hacker|dan)\b",
        "from now on, from this point on": r"\bfrom (?:now|this point) on,? you (?:obey\b|act as\b|ignore (?:your"
        r"|all|any)\b|(?:will|must|shall) (?:obey|act as|ignore|behave|be an?)\b|(?:will |must |shall )?(?:only"
        r"|always) (?:act|answer|obey|respond|reply|speak)\b|are an? (?:evil|unrestricted|uncensored|different)\b)",
        "act as if you, pretend": r"\bact as if you\b|\bpretend (?:that )?you are\b",
        "have no": r"\byou (?:now )?have no (?:restrictions|rules|limits|guidelines|filters)",
        "mode": r"\b(?:enter|switch to|activate|enable) (?:developer|god|dan|jailbreak|unrestricted|admin)"
        r" mode\b[^\n]{0,40}\b(?:filters?|restrictions|safety|rules|policies|limits|you)\b",
    },
    PROMPT: {
        "system prompt, system-prompt": r"\b(?:reveal|print|repeat|show|output|reply with|leak|disclose|tell me"
        r"|what is|what's) %SOME%your system[ -]prompt",
        "repeat the, the text above, the words above, new instructions, system prompt:": (
            r"\b(?:repeat|print|output|reveal) the (?:words|text) above(?:%END%| this| verbatim| word for"
            r" word| in full| and\b)|\bnew instructions(?: are)?:|%START%system prompt: (?:you|ignore)\b"
        ),
        "your initial, your original, your hidden, your exact": r"\b(?:reveal|print|repeat|show|output|leak"
        r"|disclose) (?:me )?%SOME%your (?:initial|original|hidden|exact) (?:instructions|prompt)",
    },
    TAG: {
        "<|": r"<\|(?:im_start|start_header_id)\|?>\s{0,3}(?:system|user|assistant|developer)\b|<\|(?:system"
        r"|assistant|user|developer)\|?>(?! (?:and|is|are|token))\s{0,3}\w|[^\s`'\x22]<\|im_end\|?>",
        "inst], sys>>": r"\[inst\](?! is\b| and\b| are\b)[^\[]{1,500}\[/inst\]|<<sys>>(?! (?:and|markers|is"
        r"|are)\b)\s{0,3}\w",
        "[system]": r"\[system\](?:\(#\w{1,20}\))?:?\s{1,3}(?:you|ignore|new|do not|obey)\b",
        "<system>, <assistant>, <developer>": r"(?:%START%|</\w{1,20}>\s{0,4}|[.!?] )<(?:system|assistant"
        r"|developer)>\s{0,4}(?!\S{1,40}</)(?!(?:is|are|and|or|was|has|elements?|tags?|nodes?)\b)\w",
        "</system, </assistant>, </developer>, </user>": r"<(system(?:[-_]\w{1,12})?|assistant|developer"
        r"|user)>\s{0,4}(?:[^<>\s]{1,40}\s{1,4}){2,60}?[^<>\s]{0,40}\s{0,4}</\1>",
        "<system, <assistant, <developer, <user, <instructions": r"<(?:system(?:[-_]\w{1,12})?|assistant|developer|user"
        r"|instructions)>\s{0,4}(?:you are (?!not)|%DO%)",
        "##": (r"#{2,6} ?(?:new )?(?:instruction|system)s? ?: {0,3}(?:you are|%DO%)"),
        "system, developer": r"(?:%START%|[.!?>\"] )(?:#+ ?)?(?:system|developer)(?: message| prompt| note|"
        r" override| alert)?\s?:\s{0,3}(?:you (?:are|must|will|should)|ignore|now|obey|execute|follow|new"
        r" instructions|override|all safety)\b",
        "instruction:, system:, system :": r"%START%#{2,6} ?(?:new |system )?instruction:|%START%#+ ?system ?: ?$",
        'human:, assistant:, "role"': r"(?:\n|\\n){2}(?:human|assistant):|\"role\" ?: ?\"(?:system|developer)\"",
    },
    CALL: {
        "<tool_, <function_call, <invoke name": r"<(?:tool_call|tool_use|function_calls|function_call|invoke"
        r" name)\b",
        "memory_forget, delete_, forget_memor": r"\b(?:call|invoke|run|use) (?:the tool )?(?:memory_forget"
        r"|delete_\w{1,30}|forget_memor\w{1,4}) (?:with|on|for) (?:all|every)\b",
    },
    TO_AI: {
        "attention, note to, notice to, message to, instructions for, instructions to": (
            r"(?:%START%|[.!?*:] )(?:a )?(?:attention|note to|notice to|message to|instructions (?:for|to)),?"
            r" %AI%(?: reading this)?%END%"
        ),
        "dear": r"\bdear (?:ai\b|llm|chat ?bot|language model|assistant\b)",
        "to any, to all, to every": r"%START%to (?:any|all|every) %AI%(?: reading this| that reads? this)? ?[:,]",
        " this": r"%AI% (?:must|should|shall|has to|have to)"
        r" [^\n]{1,80}(?:when|once|after) (?:they|you|it) (?:read|see|retrieve|recall|find|load)s? this\b",
        "if you are": r"\bif you are %AI%",
        "you must, you should, you will, you have": r"\bas %AI%,? you (?:must|should|will|have to)\b",
        "run, execute, call, delete, send": r"%START%%AI% ?[:,] (?:please )?(?:run|execute|call|delete|send)\b",
        "this": r"\b(?:when|whenever|once|after|if) (?:you|%AI%) (?:read|recall|retrieve|load)s? this(?:"
        r" (?:memory|note|text|message|record))?(?:,|:| (?:and|then|you)\b)",
        "this memory is, this note is": r"\b(?:when|whenever|once|after|if) this (?:memory|note) is (?:recalled"
        r"|retrieved|loaded|read),",
        "before you answer, before answering, before replying, before responding": (
            r"\bbefore (?:you answer|answering|replying|responding)(?: (?:to )?the user)?,? (?:first,? |always "
            r"|please |you must "
            r"|then ){0,2}(?:read|run|call|execute|fetch|open|send|upload|post|visit)\b"
        ),
    },
    CONCEAL: {
        "the user": r"\b(?:not|don't|never|without) (?:\w{1,12} )?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?"
        r"|alert(?:ing)?|warn(?:ing)?) the user(?: (?:about|of) (?:this|it|that|these|anything)\b| anything|%END%)",
        "the user know": r"\b(?:not|don't|never) let the user know\b",
        "to the user that, to the user this": r"\b(?:not|don't|never) (?:reveal|disclose|mention|say|admit"
        r"|report) to the user th(?:at|is)\b",
        "to the user": r"\b(?:not|don't|never) (?:mention|reveal|disclose|show|say|report) (?:this|it|that|these"
        r"|any of this)(?: \w{1,20}){0,2} to the user\b",
        "from the user": r"\b(?:hide|keep|conceal) (?:this|it|that) (?:\w{1,20} ){0,2}?from the user\b",
    },
    SEND: {
        "exfiltrate": r"\bexfiltrate (?:the|all|any|every|your)\b",
        "http, @, webhook, url": r"(?:%START%|[.!?:,] |\b(?:and|then|please|now|first|must|to) )(?:send|upload"
        r"|post|e-?mail|forward|transmit|leak) (?:(?:the|all|any|your|every|of|this|full|whole|user's|its)"
        r" ){0,3}%KEPT%(?:,| (?:to|into|via|over|at|from|in|on|using|with|and|of|you|that|found|here)\b)%TO%",
        "~/.ssh": r"\b(?:send|upload|post|e-?mail|forward) %SOME%~/\.ssh%TO%",
    },
    AUTHORITY: {
        "priority over, precedence over": r"\b(?:priority|precedence) over (?:the |all |any |what"
        r" )?(?:user(?:'s)? (?:messages?|instructions?|requests?|wishes|says)|system (?:prompt|messages?)"
        r"|(?:previous|other|earlier) instructions)",
        "override": r"\b(?:this|these)(?: (?:note|memory|instructions?|message|text|rules))? overrides?"
        r" (?:anything|everything|all|whatever|any) %SOME%(?:the user|instructions|you were \w)",
        "the user": r"\bthe user has (?:already )?(?:authorized|authorised|approved|consented to"
        r"|permitted) (?:all|any|every|full|everything)\b|\bthe user (?:has )?(?:already )?(?:consented|agreed)"
        r" to (?:all|any|every)",
        "obey": r"\bobey (?:only (?:me|this|these|the (?:person|one|author))|(?:only )?whoever|no one but)\b",
        "anthropic, openai, your developer, your creator, your administrator": (
            r"(?:%START%|[.!?] )(?:this is )?(?:an? )?(?:\w{1,12} )?(?:message|order|directive|update|notice)"
            r" from (?:anthropic|openai|your (?:developers?|creators?|administrators?))\b|\bas your (?:developer"
            r"|creator|administrator),? i\b"
        ),
    },
}
