package io.retort.onnxruntime.bench;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Runs the decoder with the official binding. Not thread-safe. */
final class JniDecoder implements AutoCloseable {
  private static final List<String> PASTS = Decoder.names("past");
  private static final List<String> PRESENTS = Decoder.names("present");

  private final OrtEnvironment env;
  private final OrtSession session;
  private final boolean roomy;
  private final LongBuffer token = direct(8).asLongBuffer();
  private final IntBuffer last = direct(4).asIntBuffer();
  private final IntBuffer total = direct(4).asIntBuffer();
  private final Map<String, OnnxTensor> first = new HashMap<>();
  /** Buffers for presents that pass through Java: two for each, so that one is read while the other is written. */
  private final FloatBuffer[][] carried = new FloatBuffer[2][PASTS.size()];

  JniDecoder(String engine, byte[] model, long rows) throws OrtException {
    session = Engines.jniSession(engine, model);
    env = OrtEnvironment.getEnvironment();
    roomy = session.getInputNames().contains("total");
    first.put("ids", OnnxTensor.createTensor(env, token, new long[] {1, 1}));
    if (roomy) {
      first.put("last", OnnxTensor.createTensor(env, last, new long[] {1}));
      first.put("total", OnnxTensor.createTensor(env, total, new long[] {1}));
    }
    for (int i = 0; i < PASTS.size(); ++i) {
      FloatBuffer past = direct(4 * Decoder.elements(rows)).asFloatBuffer();
      for (int j = 0; j < past.capacity(); ++j) past.put(j, Decoder.past(j));
      first.put(PASTS.get(i), OnnxTensor.createTensor(env, past, Decoder.cache(rows)));
      for (FloatBuffer[] side : carried) side[i] = direct(4 * Decoder.elements(rows + Decoder.STEPS)).asFloatBuffer();
    }
  }

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private static long best(Buffer of) {
    FloatBuffer logits = (FloatBuffer) of;
    long best = 0;
    float most = Float.NEGATIVE_INFINITY;
    for (int i = 0; i < Decoder.SIZE.vocabulary(); ++i) {
      if (logits.get(i) > most) {
        most = logits.get(i);
        best = i;
      }
    }
    return best;
  }

  private static OnnxTensor tensor(OrtSession.Result result, String name) {
    return (OnnxTensor) result.get(name).orElseThrow();
  }

  /**
   * Runs all steps. Results become inputs of the next step directly or, if {@code throughJava} is set, after a copy
   * through Java.
   */
  long steps(boolean throughJava) throws OrtException {
    long next = 1;
    Map<String, OnnxTensor> inputs = new HashMap<>(first);
    OrtSession.Result before = null;
    for (int step = 0; step < Decoder.STEPS; ++step) {
      token.put(0, next);
      last.put(0, Decoder.PAST + step);
      total.put(0, Decoder.PAST + step + 1);
      OrtSession.Result result = session.run(inputs);
      for (int i = 0; i < PASTS.size(); ++i) {
        OnnxTensor present = tensor(result, PRESENTS.get(i));
        OnnxTensor past = inputs.put(PASTS.get(i), throughJava ? carry(present, carried[step % 2][i]) : present);
        if (throughJava && step > 0) past.close();
      }
      next = best(tensor(result, "logits").getFloatBuffer());
      if (before != null) before.close();
      before = throughJava ? null : result;
      if (throughJava) result.close();
    }
    if (before != null) before.close();
    if (throughJava) PASTS.forEach(name -> inputs.get(name).close());
    return next;
  }

  private OnnxTensor carry(OnnxTensor present, FloatBuffer to) throws OrtException {
    FloatBuffer rows = present.getFloatBuffer();
    to.clear().put(rows).flip();
    return OnnxTensor.createTensor(env, to, present.getInfo().getShape());
  }

  @Override
  public void close() throws OrtException {
    first.values().forEach(OnnxTensor::close);
    session.close();
  }
}
