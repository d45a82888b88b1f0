/** I/O binding of ONNX models over the Foreign Function and Memory API. */
package io.retort.onnxruntime;
