"""skl2onnx: models of scikit-learn, converted and checked with the engine."""
import numpy as np
import onnxruntime

NEEDS = ("skl2onnx", "sklearn")


def data():
    random = np.random.default_rng(5)
    x = random.standard_normal((200, 8)).astype(np.float32)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(np.int64) + (x[:, 3] > 1)


def models():
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    x, y = data()
    for model in (LogisticRegression(), RandomForestClassifier(10, random_state=0), GradientBoostingClassifier(n_estimators=10, random_state=0),
                  MLPClassifier((16,), max_iter=50, random_state=0), SVC(probability=True, random_state=0), KNeighborsClassifier(3),
                  RandomForestRegressor(10, random_state=0), GaussianProcessRegressor()):
        pipeline = make_pipeline(StandardScaler(), model)
        yield type(model).__name__, pipeline.fit(x, y), x
    words = ["the first text", "a second text of words", "words of the third", "nothing else"]
    yield "TfidfVectorizer", TfidfVectorizer().fit(words), np.array(words)[:, None]


def results():
    import warnings

    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    warnings.simplefilter("ignore")
    found = {}
    for name, model, x in models():
        kind = StringTensorType([None, 1]) if x.dtype.kind == "U" else FloatTensorType([None, x.shape[1]])
        # The other classifiers give sequences of maps. Locale en_US, the default, is not on every machine.
        options = {"LogisticRegression": {"zipmap": False}, "TfidfVectorizer": {"locale": "C"}}.get(name)
        converted = skl2onnx.convert_sklearn(model, initial_types=[("x", kind)], options={id(model): options} if options else None, target_opset=18)
        session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
        for output, value in zip(session.get_outputs(), session.run(None, {"x": x})):
            if isinstance(value, list):  # of maps
                value = np.array([[row[key] for key in sorted(row)] for row in value])
            found[f"{name}: {output.name}"] = value
    return found
