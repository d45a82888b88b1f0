package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Upcalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * Adapts an {@link EpSelector} to the callback of the library.
 *
 * @param api the library
 * @param selector chooses the devices
 */
record SelectorCall(OrtApiFFM api, EpSelector selector) implements Upcalls.Selection {
  @Override
  public MemorySegment select(MemorySegment devices, MemorySegment modelMetadata, MemorySegment runtimeMetadata, MemorySegment selected, MemorySegment count) {
    try {
      List<EpDevice> all = new ArrayList<>();
      for (MemorySegment one : OrtApiFFM.pointers(devices, devices.byteSize() / 8)) all.add(new EpDevice(api, one));
      int most = (int) (selected.byteSize() / 8);
      List<EpDevice> chosen = selector.select(List.copyOf(all), api.keyValues(modelMetadata), api.keyValues(runtimeMetadata), most);
      if (chosen.size() > most) return api.status(OrtErrorCode.INVALID_ARGUMENT, "the selector chose " + chosen.size() + " devices, at most " + most + " may be chosen");
      for (int i = 0; i < chosen.size(); ++i) {
        if (!all.contains(chosen.get(i))) return api.status(OrtErrorCode.INVALID_ARGUMENT, "the selector chose " + chosen.get(i) + ", which was not offered: return devices of its argument");
        selected.setAtIndex(ValueLayout.ADDRESS, i, chosen.get(i).address);
      }
      count.set(ValueLayout.JAVA_LONG, 0, chosen.size());
      return MemorySegment.NULL;
    } catch (Throwable e) {
      return api.status(OrtErrorCode.FAIL, "the selector threw " + e);
    }
  }
}
