package io.retort.onnxruntime.generator;

import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Writes the class with a method handle for each signature. */
final class SignatureWriter {
  private SignatureWriter() {}

  static String write(Set<Signature> signatures) {
    StringBuilder out = Source.header();
    out.append("import java.lang.foreign.FunctionDescriptor;\nimport java.lang.foreign.Linker;\nimport java.lang.foreign.ValueLayout;\n");
    out.append("import java.lang.invoke.MethodHandle;\n\n");
    out.append("/**\n * Each signature has a class of its own, so that its handle is created with the first call, and is a constant for the JIT compiler.\n");
    out.append(" * The first parameter of each handle is the address of the function.\n */\nfinal class Signatures {\n  private Signatures() {}\n");
    signatures.forEach(signature -> holder(out, signature));
    return out.append("}\n").toString();
  }

  private static void holder(StringBuilder out, Signature signature) {
    boolean isVoid = signature.result() == CType.VOID;
    String layouts = Stream.concat(isVoid ? Stream.of() : Stream.of(signature.result()), signature.parameters().stream())
        .map(type -> type.layout).collect(Collectors.joining(", "));
    out.append("\n  static final class ").append(signature.holder()).append(" {\n");
    out.append("    static final FunctionDescriptor DESCRIPTOR = FunctionDescriptor.").append(isVoid ? "ofVoid(" : "of(").append(layouts).append(");\n");
    out.append("    static final MethodHandle HANDLE = Linker.nativeLinker().downcallHandle(DESCRIPTOR");
    out.append(signature.critical() ? ", Linker.Option.critical(false)" : "").append(");\n\n");
    out.append("    private ").append(signature.holder()).append("() {}\n  }\n");
  }
}
