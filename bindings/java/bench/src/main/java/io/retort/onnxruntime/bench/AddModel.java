package io.retort.onnxruntime.bench;

import io.retort.onnxruntime.testing.Models;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes the model of {@link CallOverhead}, for measurements in other languages. */
public final class AddModel {
  private AddModel() {}

  /**
   * Writes the model.
   *
   * @param args the file to write
   */
  public static void main(String[] args) throws IOException {
    Files.write(Path.of(args[0]), Models.add(4));
  }
}
