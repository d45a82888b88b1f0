#!/usr/bin/env python3
"""Save some of the cases of ../bases.txt in ORT format, with official ONNX Runtime: make.py CASES"""
import os
import sys

import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = """node/test_gemm_all_attributes node/test_if node/test_loop11 node/test_scan9_sum node/test_sequence_insert_at_back
node/test_tfidfvectorizer_tf_only_bigrams_skip0 node/test_ai_onnx_ml_label_encoder_string_int node/test_lstm_defaults
node/test_constantofshape_float_ones pytorch-converted/test_Conv2d""".split()


def save(model, path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = path
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


for name in NAMES:
    save(os.path.join(sys.argv[1], name, "model.onnx"), os.path.join(HERE, name.replace("/", "-") + ".ort"))
