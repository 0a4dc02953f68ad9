# What is installed, and where:
#   lib/fanlight/libfanlight-<abi>.so   the preloads
#   lib/fanlight/libdart-fanlight-<abi>.so   global memory and the DART interface
#   lib/libfanlight_*.a, include/       the core that has no MPI in it, for C++ programs
#   lib/cmake/fanlight, lib/pkgconfig
# In a Python wheel (scikit-build-core sets SKBUILD) only these libraries and the benchmark's
# sources, beside the module.
include(CMakePackageConfigHelpers)

set(preloads)
foreach(room IN ITEMS preload global)
  get_property(targets DIRECTORY src/${room} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "SHARED_LIBRARY|MODULE_LIBRARY")
      list(APPEND preloads ${target})
      set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${FANLIGHT_LIBRARY_DIR})
    endif()
  endforeach()
endforeach()

if(SKBUILD)
  set(FANLIGHT_INSTALL_PRELOADS fanlight/lib)
  # `fanlight bench` compiles its program for an MPI that nobody built it for.
  file(GLOB bench_sources ${PROJECT_SOURCE_DIR}/bench/*.[ch])
  install(FILES ${bench_sources} DESTINATION fanlight/bench-source)
else()
  set(FANLIGHT_INSTALL_PRELOADS ${CMAKE_INSTALL_LIBDIR}/fanlight)
endif()
if(preloads)
  install(TARGETS ${preloads} LIBRARY DESTINATION ${FANLIGHT_INSTALL_PRELOADS} COMPONENT fanlight)
endif()

if(NOT SKBUILD)
  set(FANLIGHT_CORE_LIBRARIES)
  # In the order in which a linker wants them: upper rooms first.
  foreach(room IN ITEMS execute select config algorithms schedule)
    if(TARGET fanlight_${room})
      list(APPEND FANLIGHT_CORE_LIBRARIES fanlight_${room})
      install(TARGETS fanlight_${room} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT fanlight)
    endif()
  endforeach()
  foreach(room IN ITEMS execute transport memory topology select config algorithms schedule)
    install(DIRECTORY src/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fanlight COMPONENT fanlight
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  endforeach()
  install(DIRECTORY include/fanlight DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT fanlight)
  # Apart, so that a DASH that is installed in the same place keeps its own.
  install(DIRECTORY ${FANLIGHT_DASH_INCLUDE}/dash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fanlight COMPONENT fanlight)

  configure_package_config_file(cmake/fanlightConfig.cmake.in
    ${PROJECT_BINARY_DIR}/fanlightConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fanlight
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR FANLIGHT_INSTALL_PRELOADS)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fanlightConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  list(TRANSFORM FANLIGHT_CORE_LIBRARIES PREPEND -l OUTPUT_VARIABLE FANLIGHT_PC_LIBRARIES)
  list(JOIN FANLIGHT_PC_LIBRARIES " " FANLIGHT_PC_LIBRARIES)
  configure_file(cmake/fanlight.pc.in ${PROJECT_BINARY_DIR}/fanlight.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/fanlightConfig.cmake ${PROJECT_BINARY_DIR}/fanlightConfigVersion.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fanlight COMPONENT fanlight)
  install(FILES ${PROJECT_BINARY_DIR}/fanlight.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT fanlight)
endif()
