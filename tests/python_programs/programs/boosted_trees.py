"""onnxmltools: trees of lightgbm and xgboost, converted; the engine agrees with the libraries themselves."""
import numpy as np
import onnxruntime

NEEDS = ("onnxmltools", "lightgbm", "xgboost")


def run(converted, x):
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {session.get_inputs()[0].name: x})))


def results():
    import lightgbm
    import onnxmltools
    import xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    random = np.random.default_rng(5)
    x = random.standard_normal((300, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(np.int64) + (x[:, 3] > 1)
    kinds = [("x", FloatTensorType([None, 6]))]
    found = {}
    for name, model, convert in (
            ("lightgbm classes", lightgbm.LGBMClassifier(n_estimators=12, verbose=-1).fit(x, y), onnxmltools.convert_lightgbm),
            ("lightgbm values", lightgbm.LGBMRegressor(n_estimators=12, verbose=-1).fit(x, x[:, 4] * 2 + y), onnxmltools.convert_lightgbm),
            ("xgboost classes", xgboost.XGBClassifier(n_estimators=12).fit(x, y), onnxmltools.convert_xgboost),
            ("xgboost values", xgboost.XGBRegressor(n_estimators=12).fit(x, x[:, 4] * 2 + y), onnxmltools.convert_xgboost)):
        outputs = run(convert(model, initial_types=kinds, target_opset=15), x)
        for output, value in outputs.items():
            if isinstance(value, list):  # of maps
                value = np.array([[row[key] for key in sorted(row)] for row in value])
            found[f"{name}: {output}"] = np.asarray(value)
        predicted = np.asarray(model.predict(x))
        np.testing.assert_allclose(np.ravel(next(iter(outputs.values()))), predicted, rtol=1e-3, atol=1e-3)
    return found
