// The base of objects that give a custom operator the resources of its provider.
#pragma once

struct CustomOpContext {
  CustomOpContext() = default;
  virtual ~CustomOpContext() = default;
};
