"""Remove secrets from text before it is stored, shown or hashed into a key."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

HIDDEN = "***"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = {
    "token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "sslpassword", "signature", "sig",
    "credential", "credentials", "apikey", "accesskey", "authorization", "auth", "jwt", "bearer",
}  # fmt: skip
# "key" alone names a secret; in a name of several words only after one of these: a sort key is not secret.
_KEY_WORDS = {
    "api", "access", "account", "app", "auth", "client", "master", "private", "secret", "service", "session", "shared",
}  # fmt: skip

# A colon before digits and the rest of an address begins a port, not a password. The password may contain any character
# except white space, also an unescaped "/" or "@"; it ends before another URL begins.
_PASSWORD = re.compile(r"(://[^:/@\s'\"(),]*):(?!\d{1,5}(?:[/?#,)\s'\"]|$))(?:(?!://)\S)*@")
_HTTP_USER = re.compile(r"\b(https?|ftps?|git)://[^:/@\s'\"(),?#*]+@", re.IGNORECASE)
_PARAMETER = re.compile(r"([?&;])([\w.%\[\]-]+)=([^&;#\s'\"),]*)")
_JSON_MEMBER = re.compile(r"""(["'])([\w.-]+)\1(\s*:\s*)(["'])((?:\\.|(?!\4).)*)\4""")
_HEADER = re.compile(
    r"\b((?:proxy-)?authorization\s*[:=]\s*)(?:(basic|bearer|digest|token)\s+)?[^\s,'\"]+", re.IGNORECASE
)
_BEARER = re.compile(r"\b(bearer)\s+(?=\S*\d)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)


def redact(text: str) -> str:
    """Return *text* without the secrets that can be recognised by their form.

    Hidden are: the password of a URL (and the whole user part of an HTTP URL without a password), parameters of a URL
    and members of a JSON object named like a key, token, secret, password or signature, and Authorization headers.
    Redacting is idempotent.

    >>> redact("pgvector:postgresql://ann:pa/ss@host:5432/db?sslmode=require&password=x")
    'pgvector:postgresql://ann:***@host:5432/db?sslmode=require&password=***'
    >>> redact("http:https://host/search?api_key=abc&sort_key=date(results=hits)")
    'http:https://host/search?api_key=***&sort_key=date(results=hits)'
    >>> redact("openai:bge@http://localhost:8000/v1(key=MY_KEY)")
    'openai:bge@http://localhost:8000/v1(key=MY_KEY)'
    """
    if "@" in text:
        text = _PASSWORD.sub(rf"\1:{HIDDEN}@", text)
        text = _HTTP_USER.sub(rf"\1://{HIDDEN}@", text)
    if "=" in text:
        text = _PARAMETER.sub(_hide_parameter, text)
    if '"' in text or "'" in text:
        text = _JSON_MEMBER.sub(_hide_member, text)
    text = _HEADER.sub(lambda match: match[1] + (f"{match[2]} " if match[2] else "") + HIDDEN, text)
    return _BEARER.sub(rf"\1 {HIDDEN}", text)


def redact_command(arguments: Sequence[str]) -> str:
    """Return a command line quoted for a shell, without secrets, including the values of options such as ``--token``.

    >>> redact_command(["serve", "--token", "a b", "--password=x", "OPENAI_API_KEY=y", "--store", "my runs"])
    "serve --token '***' '--password=***' 'OPENAI_API_KEY=***' --store 'my runs'"
    """
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        is_name = re.fullmatch(r"-{0,2}[A-Za-z][\w-]*", name) is not None and is_secret_name(name)
        if hide_next and not argument.startswith("--"):
            shown.append(HIDDEN)
        elif is_name and equals:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(redact(argument))
        hide_next = is_name and not equals and argument.startswith("-")
    return shlex.join(shown)


def redact_all(content: Any) -> Any:
    """Return nested dicts and lists with every string redacted, and the values of secret names hidden.

    >>> redact_all({"stores": ["sqlite:///a.db", "postgresql://me:x@h/d"], "password": "y", "max_tokens": "5"})
    {'stores': ['sqlite:///a.db', 'postgresql://me:***@h/d'], 'password': '***', 'max_tokens': '5'}
    """
    if isinstance(content, str):
        return redact(content)
    if isinstance(content, Mapping):
        return {
            name: HIDDEN if isinstance(value, str) and is_secret_name(str(name)) else redact_all(value)
            for name, value in content.items()
        }
    if isinstance(content, (list, tuple)):
        return [redact_all(value) for value in content]
    return content


def is_secret_name(name: str) -> bool:
    """Return True if a parameter, option or header of that name holds a secret.

    >>> [is_secret_name(name) for name in ("api_key", "X-Amz-Signature", "accessToken", "key", "AWSAccessKeyId")]
    [True, True, True, True, True]
    >>> [is_secret_name(name) for name in ("sort_key", "max_tokens", "tokens", "keyspace", "author", "key_env")]
    [False, False, False, False, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if words and words[-1] in ("env", "header", "name", "file", "path"):
        return False
    if words == ["key"] or any(word in _SECRET_WORDS for word in words):
        return True
    return any(after == "key" and before in _KEY_WORDS for before, after in pairwise(words))


def _hide_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}={HIDDEN}" if is_secret_name(match[2]) else match[0]


def _hide_member(match: re.Match[str]) -> str:
    if not is_secret_name(match[2]):
        return match[0]
    return f"{match[1]}{match[2]}{match[1]}{match[3]}{match[4]}{HIDDEN}{match[4]}"
