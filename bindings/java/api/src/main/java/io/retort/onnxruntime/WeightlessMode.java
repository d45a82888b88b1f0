package io.retort.onnxruntime;

/** Which weights of a model the parts that providers compile do not contain; sessions read them from elsewhere. */
public enum WeightlessMode {
  /** The compiled parts contain all weights. */
  NONE(0),
  /** Weights that lie in files of external data are left there. */
  EXTERNAL_ONLY(1),
  /** The compiled parts contain no weights; those of the original model are needed, too. */
  ALL(2);

  private final int value;

  WeightlessMode(int value) {
    this.value = value;
  }

  /** {@return the value of this constant in the C interface} */
  public int value() {
    return value;
  }
}
