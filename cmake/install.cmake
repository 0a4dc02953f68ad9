# What is installed, and where:
#   lib/fanlight/libfanlight-<abi>.so   the preloads, and the collectives' own API
#   lib/fanlight/libdart-fanlight-<abi>.so   global memory and the DART interface
#   lib/fanlight/libfanlight-heap.so    the shared heap
#   include/fanlight                    the interfaces for C, C++ and Fortran
#   lib/cmake/fanlight, lib/pkgconfig
#   share/modulefiles                   for Lmod
# In a Python wheel (scikit-build-core sets SKBUILD) these libraries, the interfaces and the benchmark's
# sources, beside the module.  Wheels have no links: there each library is one file, libfanlight-<abi>.so.0.
include(CMakePackageConfigHelpers)

set(preloads)
foreach(layer IN ITEMS preload global heap)
  get_property(targets DIRECTORY src/${layer} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "SHARED_LIBRARY|MODULE_LIBRARY")
      list(APPEND preloads ${target})
      set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${FANLIGHT_LIBRARY_DIR})
    endif()
  endforeach()
endforeach()

if(SKBUILD)
  if(preloads)
    install(TARGETS ${preloads} LIBRARY DESTINATION fanlight/lib COMPONENT fanlight NAMELINK_SKIP)
  endif()
  install(DIRECTORY include/fanlight DESTINATION fanlight/include)
  # `fanlight bench` compiles its program for an MPI that nobody built it for.
  file(GLOB bench_sources ${PROJECT_SOURCE_DIR}/bench/*.[ch])
  install(FILES ${bench_sources} DESTINATION fanlight/bench-source)
  # The rest is no part of a wheel: cmake --install ... --component development
  set(component development EXCLUDE_FROM_ALL)
else()
  set(component fanlight)
endif()

set(FANLIGHT_INSTALL_PRELOADS ${CMAKE_INSTALL_LIBDIR}/fanlight)
if(preloads)
  install(TARGETS ${preloads} LIBRARY DESTINATION ${FANLIGHT_INSTALL_PRELOADS} COMPONENT ${component})
endif()
install(DIRECTORY include/fanlight DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component})
# Apart, so that a DASH that is installed in the same place keeps its own.
install(DIRECTORY ${FANLIGHT_DASH_INCLUDE}/dash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fanlight COMPONENT ${component})

# In lower case find_package(fanlight) and find_package(Fanlight) find it.
configure_package_config_file(cmake/fanlight-config.cmake.in ${PROJECT_BINARY_DIR}/fanlight-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fanlight
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR FANLIGHT_INSTALL_PRELOADS)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fanlight-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fanlight-config.cmake ${PROJECT_BINARY_DIR}/fanlight-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fanlight COMPONENT ${component})

# From the folder of the .pc files, which may be lib/x86_64-linux-gnu/pkgconfig.
file(RELATIVE_PATH FANLIGHT_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" FANLIGHT_PREFIX_FROM_PC "${FANLIGHT_PREFIX_FROM_PC}")
set(pkg_config_files)
foreach(abi IN ITEMS mpich openmpi abi)
  if(TARGET fanlight-${abi})
    configure_file(cmake/fanlight-abi.pc.in ${PROJECT_BINARY_DIR}/fanlight-${abi}.pc @ONLY)
    list(APPEND pkg_config_files ${PROJECT_BINARY_DIR}/fanlight-${abi}.pc)
  endif()
endforeach()
if(pkg_config_files)
  install(FILES ${pkg_config_files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endif()

configure_file(packaging/modulefiles/fanlight.lua.in ${PROJECT_BINARY_DIR}/fanlight.lua @ONLY)
configure_file(packaging/modulefiles/fanlight-preload.lua.in ${PROJECT_BINARY_DIR}/fanlight-preload.lua @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fanlight.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/fanlight
        RENAME ${PROJECT_VERSION}.lua COMPONENT ${component})
foreach(abi IN ITEMS mpich openmpi abi)
  if(TARGET fanlight-${abi})
    install(FILES ${PROJECT_BINARY_DIR}/fanlight-preload.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/fanlight-preload
            RENAME ${abi}.lua COMPONENT ${component})
  endif()
endforeach()
