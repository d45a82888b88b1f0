"""A session that workers of torch's DataLoader inherit by fork, and tensors of torch as inputs."""
import numpy as np

NEEDS = ("torch", "onnx")


def model():
    from onnx import TensorProto, helper, numpy_helper
    weights = np.random.default_rng(0).standard_normal((64, 8), np.float32)
    nodes = [helper.make_node("MatMul", ["rows", "weights"], ["sums"]), helper.make_node("Relu", ["sums"], ["features"])]
    graph = helper.make_graph(nodes, "features", [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 64])],
                              [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 8])], [numpy_helper.from_array(weights, "weights")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def results():
    import onnxruntime
    import torch
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])
    rows = torch.from_numpy(np.random.default_rng(1).standard_normal((96, 64), np.float32))

    class Features(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, i):
            return torch.from_numpy(session.run(None, {"rows": rows[i:i + 1].numpy()})[0][0])

    whole = session.run(None, {"rows": rows.numpy()})[0]
    loader = torch.utils.data.DataLoader(Features(), batch_size=16, num_workers=2, multiprocessing_context="fork")
    loaded = torch.cat(list(loader)).numpy()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(rows.numpy())
    bound = session.run_with_ort_values(None, {"rows": value})[0]
    return {"whole": whole, "loaded": loaded, "through DLPack": torch.from_dlpack(bound).numpy()}
