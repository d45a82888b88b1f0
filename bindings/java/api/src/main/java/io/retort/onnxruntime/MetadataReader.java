package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the metadata of a model. */
final class MetadataReader {
  private MetadataReader() {}

  static ModelMetadata read(OrtApiFFM api, MemorySegment session) {
    MemorySegment m = api.pointer(out -> api.c.sessionGetModelMetadata(session, out));
    MemorySegment allocator = api.defaultAllocator;
    try {
      String producer = api.text(out -> api.c.modelMetadataGetProducerName(m, allocator, out));
      String graph = api.text(out -> api.c.modelMetadataGetGraphName(m, allocator, out));
      String graphText = api.text(out -> api.c.modelMetadataGetGraphDescription(m, allocator, out));
      String domain = api.text(out -> api.c.modelMetadataGetDomain(m, allocator, out));
      String text = api.text(out -> api.c.modelMetadataGetDescription(m, allocator, out));
      long version = api.number(out -> api.c.modelMetadataGetVersion(m, out));
      return new ModelMetadata(producer, graph, graphText, domain, text, version, custom(api, m));
    } finally {
      api.c.releaseModelMetadata(m);
    }
  }

  private static Map<String, String> custom(OrtApiFFM api, MemorySegment metadata) {
    Map<String, String> custom = new LinkedHashMap<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment keys = api.pointer(arena, out -> api.c.modelMetadataGetCustomMetadataMapKeys(metadata, api.defaultAllocator, out, count));
      long n = count.get(ValueLayout.JAVA_LONG, 0);
      if (n == 0 || keys.address() == 0) return custom;
      List<MemorySegment> names = OrtApiFFM.pointers(keys, n);
      List<String> texts = OrtApiFFM.strings(keys, n);
      for (int i = 0; i < n; ++i) {
        MemorySegment name = names.get(i);
        custom.put(texts.get(i), api.text(out -> api.c.modelMetadataLookupCustomMetadataMap(metadata, api.defaultAllocator, name, out)));
        api.check(api.c.allocatorFree(api.defaultAllocator, name));
      }
      api.check(api.c.allocatorFree(api.defaultAllocator, keys));
    }
    return custom;
  }
}
