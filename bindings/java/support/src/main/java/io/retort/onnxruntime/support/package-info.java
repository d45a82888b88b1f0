/** Tells whether I/O binding can be used. Loads on Java 17 and newer, which the other packages do not. */
package io.retort.onnxruntime.support;
