"""What clients ask of a simulated server, checked: bodies of chat and text completions, and errors in their shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from planner.measure import prompts

MAX_MESSAGES = 10_000
MAX_TOKEN_ID = 2**32 - 1


class ApiError(Exception):
    """An answer that is an error: status, sentence, type as OpenAI names it, and the field."""

    def __init__(
        self, status: int, message: str, kind: str = "invalid_request_error", param: str | None = None
    ) -> None:
        self.status, self.message, self.kind, self.param = status, message, kind, param
        super().__init__(message)

    def as_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}}


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion asked for. tokens: the prompt; max_tokens: None where not said."""

    chat: bool
    tokens: bytes
    stream: bool
    with_usage: bool
    max_tokens: int | None
    min_tokens: int
    ignore_eos: bool

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt; an empty one counts as one token."""
        return max(1, prompts.count(self.tokens))


def read_completion(body: bytes, model: str, *, chat: bool) -> Completion:
    """The completion a body asks for. Raises ApiError: 404 for another model, 400 for what cannot be understood."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise ApiError(400, "the body is not JSON") from None
    if not isinstance(document, dict):
        raise ApiError(400, "the body must be a JSON object")
    _check_model(document.get("model"), model)
    if document.get("n") not in (None, 1):
        raise ApiError(400, "only n = 1 is simulated", param="n")
    options = document.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise ApiError(400, "stream_options must be an object", param="stream_options")
    most = _whole(
        document, "max_completion_tokens" if document.get("max_completion_tokens") is not None else "max_tokens", 1
    )
    return Completion(
        chat=chat,
        tokens=_messages(document.get("messages")) if chat else _prompt(document.get("prompt")),
        stream=_flag(document, "stream"),
        with_usage=bool(options and _flag(options, "include_usage")),
        max_tokens=most,
        min_tokens=_whole(document, "min_tokens", 0) or 0,
        ignore_eos=_flag(document, "ignore_eos"),
    )


def _check_model(given: Any, model: str) -> None:
    if not isinstance(given, str):
        raise ApiError(400, "model must be a text", param="model")
    if given != model:
        raise ApiError(
            404, f"The model `{given[:200]}` does not exist; this server simulates `{model}`.", "NotFoundError", "model"
        )


def _flag(document: dict[str, Any], name: str) -> bool:
    value = document.get(name)
    if value is not None and not isinstance(value, bool):
        raise ApiError(400, f"{name} must be true or false", param=name)
    return bool(value)


def _whole(document: dict[str, Any], name: str, least: int) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10**9:
        raise ApiError(400, f"{name} must be a whole number of at least {least}", param=name)
    return value


def _prompt(prompt: Any) -> bytes:
    """A text, a list of tokens, or a list with one of either."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return prompts.of_text(prompt)
    if isinstance(prompt, list) and all(isinstance(each, int) and 0 <= each <= MAX_TOKEN_ID for each in prompt):
        return prompts.of_ids(prompt)
    raise ApiError(400, "prompt must be one text or one list of token numbers", param="prompt")


def _messages(messages: Any) -> bytes:
    if not isinstance(messages, list) or not 0 < len(messages) <= MAX_MESSAGES:
        raise ApiError(400, f"messages must be a list of 1 to {MAX_MESSAGES}", param="messages")
    return prompts.of_messages([_message(each) for each in messages])


def _message(message: Any) -> tuple[str, str]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ApiError(400, "every message needs a role", param="messages")
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if len(parts) != len(content) or not all(isinstance(part, str) for part in parts):
            raise ApiError(400, "only text is simulated in messages", param="messages")
        content = "".join(str(part) for part in parts)
    if content is not None and not isinstance(content, str):
        raise ApiError(400, "the content of a message must be a text", param="messages")
    return message["role"], content or ""
