// The numbers from which each provider counts the resources that KernelContext_GetResource returns.
#pragma once

enum ResourceOffset {
  cpu_resource_offset = 0,
  cuda_resource_offset = 10000,
  dml_resource_offset = 20000,
  rocm_resource_offset = 30000,
  custom_ep_resource_offset = 10000000
};
