"""Models that can be read, but not loaded."""
from case import Chapter
from program import parse

operators = Chapter("Operators and attributes")
operators.model("operator misspelt", "'act' Rellu Relu opset 21", "g (float[2] x) => (float[2] y) { [act] y = Rellu(x) }")
operators.model("operator that does not exist", "'act' Frobnicate `retort", "g (float[2] x) => (float[2] y) { [act] y = Frobnicate(x) }")
operators.model("operator newer than the model's opset", "", '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { [act] y = Gelu(x) }')
operators.model("domain that the model does not import", "'mine' com.example.Frobnicate", "g (float[2] x) => (float[2] y) { [mine] y = com.example.Frobnicate(x) }")
operators.model("custom operator that is not registered", "'mine' com.example.Frobnicate",
                '<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]> g (float[2] x) => (float[2] y) { [mine] y = com.example.Frobnicate(x) }')
operators.model("operator of another domain than it is in", "'act' ai.onnx.ml.Relu `retort",
                '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[2] x) => (float[2] y) { [act] y = ai.onnx.ml.Relu(x) }')
operators.model("attribute missing", "'to' Cast set", "g (float[2] x) => (int64[2] y) { [to] y = Cast(x) }")
operators.model("attribute of another kind", "'cat' Concat 'axis' 0.5 FLOAT INT", "g (float[2] x) => (float[4] y) { [cat] y = Concat <axis = 0.5> (x, x) }")
operators.model("attribute misspelt", "'sm' Softmax 'axes' 'axis'", "g (float[2,3] x) => (float[2,3] y) { [sm] y = Softmax <axes = 1> (x) }")
operators.model("attribute that the operator does not have", "'act' Relu 'alpha' remove", "g (float[2] x) => (float[2] y) { [act] y = Relu <alpha = 0.1> (x) }")
operators.model("attribute with an unknown value", "'up' AveragePool auto_pad 'SOME' SAME_UPPER",
                """g (float[1,1,4,4] x) => (float[1,1,4,4] y) { [up] y = AveragePool <auto_pad = "SOME", kernel_shape = [2, 2]> (x) }""")
operators.model("attribute out of its range", "'pool' MaxPool 'kernel_shape' 0", "g (float[1,1,4,4] x) => (float[1,1,n,m] y) { [pool] y = MaxPool <kernel_shape = [0, 2]> (x) }")
operators.model("Cast to a type that does not exist", "'to' Cast 77 type", "g (float[2] x) => (float[2] y) { [to] y = Cast <to = 77> (x) }")
operators.model("too few inputs", "'sum' Add 1 (B)", "g (float[2] x) => (float[2] y) { [sum] y = Add(x) }")
operators.model("required input left out", "'sum' Add 0 (A)", 'g (float[2] x) => (float[2] y) { [sum] y = Add("", x) }')
operators.model("too many inputs", "'act' Relu 2 1", "g (float[2] x) => (float[2] y) { [act] y = Relu(x, x) }")
operators.model("too many outputs", "'act' Relu 2 1", "g (float[2] x) => (float[2] y) { [act] y, z = Relu(x) }")
operators.model("einsum equation with a wrong number of terms", "'ein' Einsum ij,jk,kl->il 2",
                'g (float[2,3] a, float[3,4] b) => (float[2,4] y) { [ein] y = Einsum <equation = "ij,jk,kl->il"> (a, b) }')

graphs = Chapter("Graphs")
graphs.model("a value that no node makes", "'sum' Add 'bias'", "g (float[2] x) => (float[2] y) { [sum] y = Add(x, bias) }")
graphs.model("an output that no node makes", "'y'", "g (float[2] x) => (float[2] y) { [act] z = Relu(x) }")
graphs.model("a value that two nodes make", "'y' two rename", "g (float[2] x) => (float[2] y) { [one] y = Relu(x) [two] y = Abs(x) }")
graphs.model("a node that makes an input of the graph", "'x' two rename", "g (float[2] x) => (float[2] y) { [one] x = Relu(x) [two] y = Abs(x) }")
graphs.model("a cycle", "'g' 'one' 'two' cycle", "g (float[2] x) => (float[2] y) { [one] a = Add(x, b) [two] b = Relu(a) [three] y = Relu(b) }")
graphs.model("two inputs of one name", "'x' two rename", "g (float[2] x, float[2] x) => (float[2] y) { [act] y = Relu(x) }")


@graphs.case("an input without a type", "'model.onnx' 'x' type")
def _(p):
    model = parse("g (float[2] x) => (float[2] y) { [act] y = Relu(x) }")
    model.graph.input[0].ClearField("type")
    p.load(model)


bodies = Chapter("If, Loop, Scan and functions")
bodies.model("operator misspelt inside If", "'if' If 'act' Rellu Relu", """g (bool c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { [act] t = Rellu(x) }, else_branch = no () => (float[2] e) { e = Abs(x) }> }""")
bodies.model("a branch of If is missing", "'if' If 'else_branch'", """g (bool c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) }> }""")
bodies.model("branches of If have different numbers of outputs", "'if' If then_branch else_branch 1 2", """g (bool c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) },
                    else_branch = no () => (float[2] e, float[2] f) { e = Abs(x) f = Neg(x) }> }""")
bodies.model("branches of If have outputs of different types", "'if' If then_branch else_branch float32 int64 cast", """g (bool c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) }, else_branch = no () => (int64[2] e) { e = Cast <to = 7> (x) }> }""")
bodies.model("a branch uses a value of the other branch", "'if' If 'else_branch' 'neg' Neg 't'", """g (bool c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) }, else_branch = no () => (float[2] e) { [neg] e = Neg(t) }> }""")
bodies.model("condition of If is not boolean", "'if' If float32 bool", """g (float c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) }, else_branch = no () => (float[2] e) { e = Neg(x) }> }""")
LOOP = """g (int64 n, float[2] x) => (float[2] y) <bool go = {{1}}> {{
    [loop] y = Loop(n, go, x) <body = step ({inputs}) => ({outputs}) {{ {nodes} }}> }}"""
bodies.model("body of Loop has too few inputs", "'loop' Loop 1 3", LOOP.format(inputs="int64 i", outputs="bool c, float[2] z", nodes="c = Identity(go) z = Relu(x)"))
bodies.model("body of Loop has too few outputs", "'loop' Loop 1 condition carried", LOOP.format(inputs="int64 i, bool b, float[2] a", outputs="bool c", nodes="c = Identity(b)"))
bodies.model("shapes clash in the body of Loop", "'loop' Loop 'sum' Add [3] [2] 'a' 'w'",
             LOOP.format(inputs="int64 i, bool b, float[2] a", outputs="bool c, float[2] z",
                         nodes="c = Identity(b) w = Constant <value = float[3] {1, 2, 3}> () [sum] z = Add(a, w)"))
bodies.model("Scan: more scanned inputs than inputs", "'scan' Scan 3 1 num_scan_inputs", """g (float[2,3] x) => (float[2,3] y) {
    [scan] y = Scan <num_scan_inputs = 3, body = step (float[3] r) => (float[3] s) { s = Relu(r) }> (x) }""")
FUNCTION = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]> g (float[2] x) => (float[2] y) {{ [call] y = local.twice({call}) }}
<domain: "local", opset_import: ["" : 21, "local" : 1]> twice (a) => (b) {{ {nodes} }}"""
bodies.model("a function that calls itself", "local.twice", FUNCTION.format(call="x", nodes="b = local.twice(a)"))
bodies.model("operator misspelt inside a function", "'call/act' Rellu Relu", FUNCTION.format(call="x", nodes="[act] b = Rellu(a)"))
bodies.model("a function call has too many inputs", "'call' local.twice 2 1", FUNCTION.format(call="x, x", nodes="b = Add(a, a)"))
bodies.model("a function does not compute its output", "local:twice 'b'", FUNCTION.format(call="x", nodes="c = Add(a, a)"))
bodies.model("a function that the model does not have", "'call' local.thrice", FUNCTION.format(call="x", nodes="b = local.thrice(a)"))

types = Chapter("Types")
types.model("types of two inputs differ", "'sum' Add float32 int64 cast", "g (float[2] x, int64[2] n) => (float[2] y) { [sum] y = Add(x, n) }")
types.model("operator does not support the type", "'exp' Exp string float32 cast", "g (string[2] x) => (string[2] y) { [exp] y = Exp(x) }")
types.model("operator has no kernel for the type", "'conv' Conv int32 float32 cast",
            "g (int32[1,1,4,4] x, int32[1,1,2,2] w) => (int32[1,1,3,3] y) { [conv] y = Conv(x, w) }")
types.model("indices are not integers", "'pick' Gather float32 int64 cast", "g (float[4] x, float[2] i) => (float[2] y) { [pick] y = Gather(x, i) }")
types.model("output declared with another type", "'act' Relu 'y' int64 float32", "g (float[2] x) => (int64[2] y) { [act] y = Relu(x) }")
types.model("sequence instead of a tensor", "'act' Relu tensor", "g (seq(float[2]) x) => (float[2] y) { [act] y = Relu(x) }")
types.model("tensor instead of a sequence", "'at' SequenceAt sequence float32[2]", "g (float[2] x, int64 i) => (float[2] y) { [at] y = SequenceAt(x, i) }")
types.model("quantised by a zero point of another type", "'bad' DequantizeLinear int8 uint8 cast", """g (float[2] x) => (uint8[2] y) <float s = {0.1}, int8 z = {0}> {
    [q] a = QuantizeLinear(x, s, z) [dq] y = Cast <to = 2> (a) [bad] b = DequantizeLinear(y, s, z) }""")

shapes = Chapter("Shapes")
shapes.model("MatMul", "'mm' MatMul [2,3] [4,5] 'a' 'b'", "g (float[2,3] a, float[4,5] b) => (float[2,5] y) { [mm] y = MatMul(a, b) }")
shapes.model("MatMul with a scalar", "'mm' MatMul 'b' float32[]", "g (float[2,3] a, float b) => (float[2,5] y) { [mm] y = MatMul(a, b) }")
shapes.model("Gemm: transposed by mistake", "'fc' Gemm [2,3] [4,3] 'a' 'b'", "g (float[2,3] a, float[3,4] b) => (float[2,4] y) { [fc] y = Gemm <transB = 1> (a, b) }")
shapes.model("Gemm: bias", "'fc' Gemm 4 5 'c' float32[5]", "g (float[2,3] a, float[3,4] b, float[5] c) => (float[2,4] y) { [fc] y = Gemm(a, b, c) }")
shapes.model("Add", "'sum' Add [2,3] [4] 'a' 'b'", "g (float[2,3] a, float[4] b) => (float[2,3] y) { [sum] y = Add(a, b) }")
shapes.model("Concat", "'cat' Concat [2,3] [4,5] 'a' 'b'", "g (float[2,3] a, float[4,5] b) => (float[n,m] y) { [cat] y = Concat <axis = 0> (a, b) }")
shapes.model("Concat: ranks", "'cat' Concat [2,3] [4] 'a' 'b'", "g (float[2,3] a, float[4] b) => (float[n,m] y) { [cat] y = Concat <axis = 0> (a, b) }")
shapes.model("axis out of range", "'sm' Softmax 2 [-2, [2,3]", "g (float[2,3] x) => (float[2,3] y) { [sm] y = Softmax <axis = 2> (x) }")
shapes.model("Conv: channels", "'conv' Conv 3 [4,2,3,3] 2 'x' 'w'", "g (float[1,3,8,8] x, float[4,2,3,3] w) => (float[1,4,6,6] y) { [conv] y = Conv(x, w) }")
shapes.model("Conv: kernel larger than the image", "'conv' Conv [1,3,2,2] [4,3,5,5]", "g (float[1,3,2,2] x, float[4,3,5,5] w) => (float[1,4,n,m] y) { [conv] y = Conv(x, w) }")
shapes.model("BatchNormalization", "'bn' BatchNormalization [4] 3 's'", """g (float[1,3,8,8] x, float[4] s) => (float[1,3,8,8] y) {
    [bn] y = BatchNormalization(x, s, s, s, s) }""")
shapes.model("LayerNormalization", "'ln' LayerNormalization [7] [2,8] 's'", "g (float[2,8] x, float[7] s) => (float[2,8] y) { [ln] y = LayerNormalization(x, s) }")
shapes.model("Reshape", "'view' Reshape [2,3] [4,2]", "g (float[2,3] x) => (float[4,2] y) <int64[2] s = {4, 2}> { [view] y = Reshape(x, s) }")
shapes.model("Reshape: two unknown extents", "'view' Reshape [-1,-1]", "g (float[2,3] x) => (float[n,m] y) <int64[2] s = {-1, -1}> { [view] y = Reshape(x, s) }")
shapes.model("Squeeze", "'sq' Squeeze [2,3] 1", "g (float[2,3] x) => (float[2] y) <int64[1] a = {1}> { [sq] y = Squeeze(x, a) }")
shapes.model("Transpose", "'t' Transpose [0,2] 'x' [2,3]", "g (float[2,3] x) => (float[n,m] y) { [t] y = Transpose <perm = [0, 2]> (x) }")
shapes.model("Split", "'cut' Split [2,3] 6 2", "g (float[6] x) => (float[n] y, float[m] z) <int64[2] s = {2, 3}> { [cut] y, z = Split(x, s) }")
shapes.model("Expand", "'grow' Expand 2 4 'x' [2,3]", "g (float[2,3] x) => (float[n,m] y) <int64[2] s = {4, 3}> { [grow] y = Expand(x, s) }")
shapes.model("LSTM", "'rnn' LSTM 5 [1,20,4]", """g (float[4,1,3] x, float[1,20,3] w, float[1,20,4] r) => (float[n,d,b,h] y) {
    [rnn] y = LSTM <hidden_size = 5> (x, w, r) }""")
