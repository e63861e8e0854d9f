"""What users of each library write, where the library's own operation is not a builtin of its stack."""

from __future__ import annotations

from typing import Any


def index_put(base: Any, updates: Any, index: Any) -> Any:
    return base.index_put((index,), updates, accumulate=True)


def relu_flushing(x: Any) -> Any:
    """A session that asks for flushing, the first of its process."""
    import onnxruntime
    from onnx import TensorProto, helper

    node = helper.make_node("Relu", ["x"], ["y"])
    shape = [None] * len(x.shape())
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "relu", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run_with_ort_values(["y"], {"x": x})[0]


def all_reduce_gloo(rank: int, world: int, x: Any, comm: Any) -> Any:
    """torch.distributed in the format of the data."""
    from kernel_contracts.stacks.natives.torch import collectives

    total = x.clone()
    collectives._group(comm).allreduce([total]).wait()
    return total
