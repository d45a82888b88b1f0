"""Runs with values that an operator does not accept."""
import numpy as np

from case import Chapter

runs = Chapter("Runs")


def f(*shape):
    return np.zeros(shape, np.float32)


def i(*values):
    return np.array(values, np.int64)


runs.run("Gather: index out of range", "'pick' Gather 7 [-4, 'i'", "g (float[4,2] x, int64[k] i) => (float[k,2] y) { [pick] y = Gather(x, i) }", x=f(4, 2), i=i(1, 7))
runs.run("GatherElements: index out of range", "'pick' GatherElements -5 [-4, 'i'",
         "g (float[4] x, int64[k] i) => (float[k] y) { [pick] y = GatherElements(x, i) }", x=f(4), i=i(0, -5))
runs.run("GatherND: index out of range", "'pick' GatherND 9 [-4, 'i'", "g (float[4,2] x, int64[k,1] i) => (float[k,2] y) { [pick] y = GatherND(x, i) }", x=f(4, 2), i=np.array([[9]]))
runs.run("ScatterElements: index out of range", "'put' ScatterElements 4 [-4, 'i'",
         "g (float[4] x, int64[k] i, float[k] u) => (float[4] y) { [put] y = ScatterElements(x, i, u) }", x=f(4), i=i(4), u=f(1))
runs.run("ScatterND: updates of another shape", "'put' ScatterND [1,3] [1,2] 'u'",
         "g (float[4,2] x, int64[k,1] i, float[a,b] u) => (float[4,2] y) { [put] y = ScatterND(x, i, u) }", x=f(4, 2), i=np.array([[1]]), u=f(1, 3))
runs.run("OneHot: negative depth", "'hot' OneHot -3 'd'", "g (int64[k] i, int64 d, float[2] v) => (float[k,m] y) { [hot] y = OneHot(i, d, v) }", i=i(1), d=np.array(-3), v=f(2))
runs.run("Reshape: another number of elements", "'view' Reshape [6] [4,2] 'x' 's'", "g (float[n] x, int64[2] s) => (float[a,b] y) { [view] y = Reshape(x, s) }", x=f(6), s=i(4, 2))
runs.run("Reshape: not divisible", "'view' Reshape [6] [4,-1]", "g (float[n] x, int64[2] s) => (float[a,b] y) { [view] y = Reshape(x, s) }", x=f(6), s=i(4, -1))
runs.run("Reshape: negative extent", "'view' Reshape [-2,3]", "g (float[n] x, int64[2] s) => (float[a,b] y) { [view] y = Reshape(x, s) }", x=f(6), s=i(-2, 3))
runs.run("Add: shapes that do not broadcast", "'sum' Add [2] [3] 'x' 'w'", "g (float[a] x, float[b] w) => (float[c] y) { [sum] y = Add(x, w) }", x=f(2), w=f(3))
runs.run("MatMul: inner extents", "'mm' MatMul [2,3] [4,5] 'x' 'w'", "g (float[a,b] x, float[c,d] w) => (float[a,d] y) { [mm] y = MatMul(x, w) }", x=f(2, 3), w=f(4, 5))
runs.run("Conv: channels", "'conv' Conv 3 2 'x'", "g (float[1,c,h,w] x) => (float[1,m,a,b] y) <float[1,2,1,1] k = {1, 2}> { [conv] y = Conv(x, k) }", x=f(1, 3, 4, 4))
runs.run("Conv: bias", "'conv' Conv 5 4", "g (float[1,2,4,4] x, float[4,2,1,1] k, float[n] b) => (float[1,4,h,w] y) { [conv] y = Conv(x, k, b) }",
         x=f(1, 2, 4, 4), k=f(4, 2, 1, 1), b=f(5))
runs.run("Conv: kernel_shape", "'conv' Conv [5,5] [1,1]",
         "g (float[1,2,h,w] x, float[4,2,1,1] k) => (float[1,4,a,b] y) { [conv] y = Conv <kernel_shape = [5, 5]> (x, k) }",
         x=f(1, 2, 8, 8), k=f(4, 2, 1, 1))
runs.run("Concat: other extents", "'cat' Concat [2,3] [2,4] 'x' 'w'", "g (float[a,b] x, float[c,d] w) => (float[e,k] y) { [cat] y = Concat <axis = 0> (x, w) }", x=f(2, 3), w=f(2, 4))
runs.run("a step inside a chain", "'second' Add [3] [2] 'w'",
         "g (float[a] x, float[b] w) => (float[c] y) { [first] p = Relu(x) [second] q = Add(p, w) [third] y = Relu(q) }", x=f(2), w=f(3))
runs.run("an operator that is taken apart", "'heads' com.microsoft.Attention [1,3,4] [5,12] 'w'", """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[n,m,k] x, float[c,d] w, float[e] b) => (float[n,m,l] y) { [heads] y = com.microsoft.Attention <num_heads = 2> (x, w, b) }""",
         x=f(1, 3, 4), w=f(5, 12), b=f(12))
runs.run("Expand: impossible shape", "'grow' Expand 3 5 'x'", "g (float[n] x, int64[1] s) => (float[m] y) { [grow] y = Expand(x, s) }", x=f(3), s=i(5))
runs.run("Tile: negative repeats", "'tile' Tile -6 'r'", "g (float[n] x, int64[1] r) => (float[m] y) { [tile] y = Tile(x, r) }", x=f(3), r=i(-2))
runs.run("ConstantOfShape: negative extent", "'fill' ConstantOfShape -4 's'", "g (int64[1] s) => (float[m] y) { [fill] y = ConstantOfShape(s) }", s=i(-4))
runs.run("Slice: step of zero", "'cut' Slice step 0", "g (float[n] x, int64[1] s) => (float[m] y) <int64[1] a = {0}> { [cut] y = Slice(x, a, a, a, s) }", x=f(4), s=i(0))
runs.run("Split: sizes that do not add up", "'cut' Split [2,3] 6 'x'", "g (float[n] x, int64[2] s) => (float[a] y, float[b] z) { [cut] y, z = Split(x, s) }", x=f(6), s=i(2, 3))
runs.run("Squeeze: extent that is not 1", "'sq' Squeeze [2,3] 1", "g (float[a,b] x, int64[1] s) => (float[c] y) { [sq] y = Squeeze(x, s) }", x=f(2, 3), s=i(1))
runs.run("Pad: more elements are removed than exist", "'pad' Pad -1 'p'", "g (float[n] x, int64[2] p) => (float[m] y) { [pad] y = Pad(x, p) }", x=f(3), p=i(-2, -2))
runs.run("TopK: k is larger than the axis", "'top' TopK 5 3 'k'", "g (float[n] x, int64[1] k) => (float[m] y, int64[m] j) { [top] y, j = TopK(x, k) }", x=f(3), k=i(5))
runs.run("Range: step of zero", "'range' Range delta 0 'd'", "g (int64 d) => (int64[n] y) <int64 a = {0}, int64 b = {5}> { [range] y = Range(a, b, d) }", d=np.array(0))
runs.run("Resize: scale of zero", "'up' Resize scale 0 's'", """g (float[1,1,2,2] x, float[4] s) => (float[a,b,c,d] y) { [up] y = Resize(x, "", s) }""",
         x=f(1, 1, 2, 2), s=np.array([1, 1, 0, 2], np.float32))
runs.run("Cast: text that is not a number", "'to' Cast 'many' 'x'", "g (string[n] x) => (float[n] y) { [to] y = Cast <to = 1> (x) }", x=np.array(["1.5", "many"]))
runs.run("Cast: a number that is too large", "'to' Cast '99999999999999999999' 'x'", "g (string[n] x) => (int64[n] y) { [to] y = Cast <to = 7> (x) }",
         x=np.array(["7", "99999999999999999999"]))
runs.run("Div: integers by zero", "'over' Div zero 1 'w'", "g (int32[n] x, int32[n] w) => (int32[n] y) { [over] y = Div(x, w) }",
         x=np.array([7, 8], np.int32), w=np.array([2, 0], np.int32))
runs.run("Mod: integers by zero", "'rest' Mod zero 0 'w'", "g (int64[n] x, int64[m] w) => (int64[n] y) { [rest] y = Mod(x, w) }", x=i(7, 8), w=i(0))
runs.run("NonMaxSuppression: different numbers of boxes and scores", "'nms' NonMaxSuppression [1,5,4] [1,1,2]",
         "g (float[a,b,c] x, float[d,e,f] s) => (int64[n,3] y) <int64[1] most = {3}> { [nms] y = NonMaxSuppression(x, s, most) }", x=f(1, 5, 4), s=f(1, 1, 2))
runs.run("NonMaxSuppression: boxes without four corners", "'nms' NonMaxSuppression [1,2,3] [1,1,2]",
         "g (float[a,b,c] x, float[d,e,f] s) => (int64[n,3] y) <int64[1] most = {3}> { [nms] y = NonMaxSuppression(x, s, most) }", x=f(1, 2, 3), s=f(1, 1, 2))
runs.run("DepthToSpace: enormous blocks", "'d2s' DepthToSpace 4294967296", "g (float[a,b,c,d] x) => (float[e,f,h,k] y) { [d2s] y = DepthToSpace <blocksize = 4294967296> (x) }",
         x=f(1, 4, 2, 2))
runs.run("SequenceAt: position out of range", "'at' SequenceAt 5 [-2, 'i'",
         "g (float[n] x, int64 i) => (float[m] y) { s = SequenceConstruct(x, x) [at] y = SequenceAt(s, i) }", x=f(3), i=np.array(5))
runs.run("If: condition with two elements", "'if' If bool[2] 'c'", """g (bool[n] c, float[2] x) => (float[2] y) {
    [if] y = If(c) <then_branch = yes () => (float[2] t) { t = Relu(x) }, else_branch = no () => (float[2] e) { e = Neg(x) }> }""",
         c=np.array([True, False]), x=f(2))
runs.run("If: a node of the branch fails", "'if' If 'pick' Gather 2 [-2, 'i'", """g (bool c, float[n] x, int64[1] i) => (float[m] y) {
    [if] y = If(c) <then_branch = yes () => (float[a] t) { [pick] t = Gather(x, i) }, else_branch = no () => (float[b] e) { e = Neg(x) }> }""",
         c=np.array(True), x=f(2), i=i(2))
LOOP = """g (int64 n, float[k] x) => (float[m] y) <bool go = {{1}}> {{
    [loop] {outputs} = Loop(n, go, x) <body = step (int64 i, bool b, {carried} a) => ({results}) {{ c = Identity(b) {nodes} }}> }}"""
runs.run("Loop: results of two steps have different shapes", "'loop' Loop float32[2] float32[4] iteration",
         LOOP.format(outputs="last, y", carried="float[p]", results="bool c, float[q] z, float[q] w", nodes="z = Concat <axis = 0> (a, a) w = Identity(z)"),
         n=np.array(2), x=f(1))
runs.run("more memory than is available", "'fill' ConstantOfShape 'y' 9007199254740992 memory", "g (int64[2] s) => (float[a,b] y) { [fill] y = ConstantOfShape(s) }", s=i(1 << 31, 1 << 20))
