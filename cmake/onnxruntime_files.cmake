# What stands in for the development package of ONNX Runtime: the headers of include/onnxruntime, also where older
# packages had them (core/session), a CMake package with the target onnxruntime::onnxruntime, and libonnxruntime.pc.
set(keys ${CMAKE_BINARY_DIR}/generated/onnxruntime)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/abi/config_keys.tsv
             ${CMAKE_SOURCE_DIR}/abi/config_constants.tsv ${CMAKE_SOURCE_DIR}/tools/gen_abi_keys.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/gen_abi.py keys ${keys} COMMAND_ERROR_IS_FATAL ANY)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/onnxruntime)
install(DIRECTORY include/onnxruntime DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${keys}/ DESTINATION ${headers} COMPONENT library FILES_MATCHING PATTERN "*.h")
install(FILES include/retort/onnxruntime_c_api.h include/retort/onnxruntime_ep_c_api.h DESTINATION ${headers} COMPONENT library)

file(GLOB public CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/include/onnxruntime ${CMAKE_SOURCE_DIR}/include/onnxruntime/onnxruntime_*.h)
file(GLOB generated RELATIVE ${keys} ${keys}/*.h)
set(older ${CMAKE_BINARY_DIR}/generated/onnxruntime_older)
foreach(name IN LISTS public generated ITEMS onnxruntime_c_api.h onnxruntime_ep_c_api.h)
  file(CONFIGURE OUTPUT ${older}/core/session/${name} CONTENT "#include \"../../${name}\"\n")
endforeach()
file(CONFIGURE OUTPUT ${older}/core/providers/cpu/cpu_provider_factory.h CONTENT "#include \"../../../cpu_provider_factory.h\"\n")
install(DIRECTORY ${older}/core DESTINATION ${headers} COMPONENT library)

set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/onnxruntime)
install(FILES ${CMAKE_BINARY_DIR}/onnxruntimeConfig.cmake ${CMAKE_BINARY_DIR}/onnxruntimeConfigVersion.cmake DESTINATION ${folder})
install(FILES ${CMAKE_BINARY_DIR}/libonnxruntime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
