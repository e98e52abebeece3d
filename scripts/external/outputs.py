"""Judges outputs against their inputs with programs that this project did not write.

Reads lines `INPUT<TAB>OUTPUT` on stdin. To the judges of validate.py comes litellm, which mends what providers refuse
(a call without a result, a result without a call, two results, empty text): a history that it leaves as it is is valid. An
output may have no finding by a judge that has none on the input.

Prints `CONVERSATIONS<TAB>JUDGED<TAB>MARRED` on stdout: conversations of outputs, verdicts that counted, and those left out
because the input had findings itself. Findings go to stderr. exit codes: 0 none; 1 some, or the self-test failed
"""

import copy
import functools
import logging
import os
import sys
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402 (it reads the environment when it is imported)
from litellm.litellm_core_utils.prompt_templates.factory import sanitize_messages_for_tool_calling  # noqa: E402
from litellm.llms.anthropic.pass_through.adapters.transformation import (  # noqa: E402
    LiteLLMAnthropicMessagesAdapter,
)

from selftest import CASES  # noqa: E402
from validate import conversations, first_lines, from_openai, order_error, provider_of, shape_error  # noqa: E402

litellm.modify_params = True
logging.getLogger("LiteLLM").setLevel(logging.ERROR)
ADAPTER = LiteLLMAnthropicMessagesAdapter()
# Those of the self-test's bad histories that litellm mends; it looks at nothing else.
MENDED_AT_LEAST = 5


def main():
    if findings := self_test():
        return fail(findings)
    counts = {"conversations": 0, "judged": 0, "marred": 0}
    findings = []
    for line in sys.stdin:
        source, output = line.rstrip("\n").split("\t")
        findings += compare(source, output, counts)
    print(*counts.values(), sep="\t")
    return fail(findings) if findings else 0


def fail(findings):
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1


def compare(source, output, counts):
    marred = judged_input(source)
    findings = []
    for place, messages in conversations_of(output):
        counts["conversations"] += 1
        for name, judge in JUDGES.items():
            if name in marred:
                counts["marred"] += 1
                continue
            counts["judged"] += 1
            error = judge(provider_of(messages), messages)
            if error is not None:
                findings.append(f"{place}: {error}")
    return findings


@functools.cache
def judged_input(source):
    """The judges that have something against the input itself."""
    found = [(place, messages) for place, messages in conversations_of(source)]
    return frozenset(name for name, judge in JUDGES.items()
                     if any(judge(provider_of(messages), messages) is not None for _, messages in found))


def conversations_of(path):
    """The conversations of a file that hold anything."""
    return ((place, messages) for place, messages in conversations(Path(path)) if messages)


def sanitize_error(provider, messages):
    """What litellm would change, or None."""
    try:
        if provider == "anthropic":
            chat = [dict(message) for message in ADAPTER.translate_anthropic_messages_to_openai(merged(messages))]
        else:
            chat = from_openai(messages)
            for message in chat:  # there is no text where there are only calls
                if message.get("tool_calls") and not message["content"]:
                    message["content"] = None
        mended = sanitize_messages_for_tool_calling(copy.deepcopy(chat))
    except Exception as error:  # it is not made for histories that break its rules
        return f"litellm: {first_lines(error)}"
    if mended == chat:
        return None
    at = next((n for n, (old, new) in enumerate(zip(chat, mended)) if old != new), min(len(chat), len(mended)))
    return f"litellm: would change message {at + 1} of {len(chat)}: {str(chat[at:at + 1])[:200]}"


def merged(messages):
    """Neighbours of one role as one message, as the provider reads them; a new list of new messages."""
    together = []
    for message in messages:
        if message["role"] == "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else copy.deepcopy(content)
        if together and together[-1]["role"] == message["role"]:
            together[-1]["content"] += blocks
        else:
            together.append({"role": message["role"], "content": blocks})
    return together


JUDGES = {"shape": shape_error, "order": order_error, "litellm": sanitize_error}


def self_test():
    findings, mended = [], 0
    for provider, name, messages, judges in CASES:
        error = sanitize_error(provider, messages)
        if not judges and error is not None:
            findings.append(f"self-test: {provider}, {name}: litellm rejects what is valid: {error}")
        mended += bool(judges) and error is not None
    if mended < MENDED_AT_LEAST:
        findings.append(f"self-test: litellm mends only {mended} of the bad histories")
    return findings


if __name__ == "__main__":
    sys.exit(main())
