"""Predict with masked language models of transformers: the most probable tokens at the mask, joined to words."""

from __future__ import annotations

import importlib
import math
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldrank.encoders.base import Options, identity_of, parse_bool, parse_positive
from goldrank.encoders.provenance import load_error, local_stamp, version_of
from goldrank.errors import InputError, MissingExtraError
from goldrank.masked.examples.chunks import Blank, Guesses
from goldrank.masked.predictors.base import ClosedSet, check_k
from goldrank.masked.predictors.windows import Window, Windows, longest_input
from goldrank.specs import Spec

_OWN = ("pieces", "revision", "trust_remote_code")
_BATCH = 16
# For models without a maximum length.
_LENGTH = 512


@dataclass
class _Candidate:
    """A name under construction: its tokens so far."""

    window: Window
    ids: list[int]
    score: float
    text: str


class FillMask:
    """``fill-mask:NAME_OR_PATH``, a model from a hub or a local folder.

    The model sees a window of its maximum length (or ``max_length=``) around the mask to fill; other masks are mask
    tokens. Each of its k most probable tokens (ties broken by id) begins a name. A name is extended while the most
    probable next token continues the word with letters, up to ``pieces=4`` tokens (``pieces=1`` for single tokens).
    Its score is the product of the probabilities; scores of equal names are summed.
    """

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, *_OWN, without=("query_prompt", "item_prompt", "dim"))
        if not spec.argument:
            raise InputError("fill-mask needs a model", remedy="write fill-mask:NAME or fill-mask:/path/of/a/model")
        self.spec = spec
        self._pieces = parse_positive("pieces", own.get("pieces", "4"))
        self._batch = options.batch_size if "batch_size" in spec.options else _BATCH
        self._torch, transformers = _packages()
        name = str(Path(spec.argument).expanduser()) if Path(spec.argument).expanduser().exists() else spec.argument
        loading = {
            "revision": own.get("revision"),
            "trust_remote_code": parse_bool("trust_remote_code", own.get("trust_remote_code", "false")),
            "local_files_only": os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"),
        }
        loading = {option: value for option, value in loading.items() if value is not None}
        try:
            with _without_bars(transformers):
                self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, **loading)
                model: Any = transformers.AutoModelForMaskedLM.from_pretrained(name, **loading)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise load_error("fill-mask", spec.argument, error) from error
        if self._tokenizer.mask_token_id is None:
            raise InputError(f"fill-mask:{spec.argument} has no mask token", remedy="choose a masked language model")
        self._device = options.device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        self._model = model.to(self._device, getattr(self._torch, options.dtype)).eval()
        longest = longest_input(self._tokenizer, model)
        length = options.max_length or longest or _LENGTH
        self._windows = Windows(self._tokenizer, min(length, longest or length), self._pieces)
        self._special = frozenset(int(token) for token in self._tokenizer.all_special_ids)
        self._stamp = local_stamp(name) or str(getattr(model.config, "_commit_hash", None) or "unknown")

    @property
    def parameters(self) -> int:
        """Number of parameters of the model, for figures by size."""
        return sum(int(weights.numel()) for weights in self._model.parameters())

    @property
    def identity(self) -> str:
        """The spec, the package versions, and a stamp of the local files or the commit of the hub."""
        return identity_of(self.spec, f"{version_of('transformers', 'torch')} {self._stamp}")

    def prepare(self, closed_set: ClosedSet) -> None:
        """Do nothing: the model does not use the closed set."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the k most probable words at each mask."""
        check_k(k)
        candidates = self._first_pieces(self._windows.of(blanks), k)
        growing = [candidate for of_mask in candidates for candidate in of_mask]
        for _ in range(self._pieces - 1):
            growing = self._extend(growing)
        return [_sum_equal_names(of_mask) for of_mask in candidates]

    def _first_pieces(self, windows: list[Window], k: int) -> list[list[_Candidate]]:
        """Return the k most probable readable tokens for each window."""
        mask = [int(self._tokenizer.mask_token_id)]
        candidates: list[list[_Candidate]] = [[] for _ in windows]
        places = [(window.filled(mask), len(window.left)) for window in windows]
        for rows, probabilities in self._probabilities(places):
            ordered = self._torch.sort(probabilities, dim=-1, descending=True, stable=True)
            for row, ids, scores in zip(rows, ordered.indices, ordered.values, strict=True):
                candidates[row] = self._readable(windows[row], ids, scores, k)
        return candidates

    def _readable(self, window: Window, ids: Any, scores: Any, k: int) -> list[_Candidate]:
        candidates: list[_Candidate] = []
        seen: set[str] = set()
        for at in range(len(ids)):
            token = int(ids[at])
            text = "" if token in self._special else self._read([token])
            # A part of a multi-byte character decodes to U+FFFD.
            if not text or "\ufffd" in text:
                continue
            if text not in seen and len(seen) == k:
                break
            seen.add(text)
            candidates.append(_Candidate(window, [token], float(scores[at]), text))
        return candidates

    def _extend(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Extend candidates by one token and return those that were extended; the others are complete words."""
        mask = int(self._tokenizer.mask_token_id)
        places = [(each.window.filled([*each.ids, mask]), len(each.window.left) + len(each.ids)) for each in candidates]
        extended = []
        for rows, probabilities in self._probabilities(places):
            best = probabilities.max(dim=-1)
            for row, token, score in zip(rows, best.indices.tolist(), best.values.tolist(), strict=True):
                candidate = candidates[row]
                text = "" if token in self._special else self._read([*candidate.ids, token])
                if text.startswith(candidate.text) and _letters(text[len(candidate.text) :]):
                    candidate.ids.append(token)
                    candidate.score *= score
                    candidate.text = text
                    extended.append(candidate)
        return extended

    def _read(self, ids: list[int]) -> str:
        text = str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False)).strip()
        # BERT marks a word piece that continues a word so.
        return text.removeprefix("##").strip()

    def _probabilities(self, places: Sequence[tuple[tuple[int, ...], int]]) -> Any:
        """Yield the probabilities of all tokens at one position of each input, in batches of (rows, matrix).

        Inputs of similar length share a batch to limit padding; equal inputs are computed once.
        """
        inputs: dict[tuple[int, ...], list[int]] = {}
        for row, (ids, _) in enumerate(places):
            inputs.setdefault(ids, []).append(row)
        distinct = sorted(inputs, key=len, reverse=True)
        for start in range(0, len(distinct), self._batch):
            batch = distinct[start : start + self._batch]
            at = [(line, row) for line, ids in enumerate(batch) for row in inputs[ids]]
            rows = [row for _, row in at]
            yield rows, self._run(batch, [line for line, _ in at], [places[row][1] for row in rows])

    def _run(self, batch: list[tuple[int, ...]], lines: list[int], positions: list[int]) -> Any:
        torch = self._torch
        width = len(batch[0])
        padding = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*each, *[padding] * (width - len(each))] for each in batch], device=self._device)
        attended = torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in batch], device=self._device)

        def select_positions(_: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            # A matrix of all positions by the whole vocabulary would take gigabytes; only one row each is needed.
            return (inputs[0][lines, positions], *inputs[1:]) if inputs[0].ndim == 3 else inputs

        head = self._model.get_output_embeddings()
        hook = head.register_forward_pre_hook(select_positions) if head is not None else None
        try:
            with torch.inference_mode():
                logits = self._model(input_ids=ids, attention_mask=attended).logits
        finally:
            if hook is not None:
                hook.remove()
        # Some models multiply by the matrix of the head without calling it.
        selected = logits[lines, positions] if logits.ndim == 3 else logits
        return selected.double().softmax(dim=-1).cpu()


def _packages() -> tuple[Any, Any]:
    try:
        return importlib.import_module("torch"), importlib.import_module("transformers")
    except ImportError as error:
        raise MissingExtraError("the predictor 'fill-mask'", "transformers with torch", "fill-mask") from error


@contextmanager
def _without_bars(transformers: Any) -> Iterator[None]:
    """Disable the progress bar of weight loading, which is shown even if standard error is not a terminal."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _letters(text: str) -> bool:
    return bool(text) and all(unicodedata.category(character)[0] in "LM" for character in text)


def _sum_equal_names(candidates: list[_Candidate]) -> Guesses:
    """Return the names ordered by score, ties by token ids."""
    parts: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        parts.setdefault(candidate.text, []).append(candidate)
    sums = {text: math.fsum(each.score for each in those) for text, those in parts.items()}
    order = sorted(parts, key=lambda text: (-sums[text], min(each.ids for each in parts[text])))
    return Guesses(tuple(order), tuple(sums[text] for text in order))
