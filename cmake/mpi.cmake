# The MPIs to build for.  For each ABI that is there:
#   FANLIGHT_<ABI>_INCLUDE   where its mpi.h (or mpi_abi.h) lies
#   FANLIGHT_<ABI>_LIBRARY   its libmpi, where a library must be linked
# with <ABI> one of MPICH (also Intel MPI, MVAPICH, Cray), OPENMPI and ABI (MPI-5's standard
# one).  They come from the prefixes FANLIGHT_MPICH_ROOT, FANLIGHT_OPENMPI_ROOT and
# FANLIGHT_IMPI_ROOT; where none is given, from find_package(MPI), whose ABI its mpi.h tells.

function(_fanlight_take_root abi root soname)
  find_path(FANLIGHT_${abi}_INCLUDE mpi.h PATHS ${root}/include ${root}/include/mpi NO_DEFAULT_PATH)
  find_library(FANLIGHT_${abi}_LIBRARY NAMES ${soname} PATHS ${root}/lib ${root}/lib64 NO_DEFAULT_PATH)
  if(NOT FANLIGHT_${abi}_INCLUDE OR NOT FANLIGHT_${abi}_LIBRARY)
    message(FATAL_ERROR "${root}: no include/mpi.h or no lib/${soname} in it")
  endif()
endfunction()

if(FANLIGHT_OPENMPI_ROOT)
  _fanlight_take_root(OPENMPI ${FANLIGHT_OPENMPI_ROOT} libmpi.so.40)
endif()
if(FANLIGHT_MPICH_ROOT)
  _fanlight_take_root(MPICH ${FANLIGHT_MPICH_ROOT} libmpi.so.12)
elseif(FANLIGHT_IMPI_ROOT)
  _fanlight_take_root(MPICH ${FANLIGHT_IMPI_ROOT} libmpi.so.12)
endif()

if(NOT FANLIGHT_MPICH_ROOT AND NOT FANLIGHT_OPENMPI_ROOT AND NOT FANLIGHT_IMPI_ROOT)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    file(WRITE ${PROJECT_BINARY_DIR}/which_mpi.c "#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
    list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE _includes)
    list(TRANSFORM MPI_C_COMPILE_DEFINITIONS PREPEND -D OUTPUT_VARIABLE _definitions)
    execute_process(COMMAND ${CMAKE_C_COMPILER} ${_includes} ${_definitions} ${MPI_C_COMPILE_OPTIONS} -dD -E ${PROJECT_BINARY_DIR}/which_mpi.c
                    OUTPUT_VARIABLE _macros ERROR_QUIET)
    if(_macros MATCHES "define OMPI_MAJOR_VERSION")
      set(_abi OPENMPI)
    elseif(_macros MATCHES "define MPICH_NUMVERSION")
      set(_abi MPICH)
    elseif(_macros MATCHES "define MPI_ABI_VERSION")
      set(_abi ABI)
    else()
      message(FATAL_ERROR "mpi.h in ${MPI_C_INCLUDE_DIRS} is neither MPICH's nor Open MPI's nor the standard ABI's")
    endif()
    string(REGEX MATCH "# 1 \"([^\"\n]*)/mpi\\.h\"" _ignored "${_macros}")
    set(_include "${CMAKE_MATCH_1}")
    set(_libraries ${MPI_mpi_LIBRARY} ${MPI_C_LIBRARIES})
    if(NOT _libraries)
      # The compiler is MPI's own (CC=mpicc), and find_package has nothing to say: its linker has.
      execute_process(COMMAND ${CMAKE_C_COMPILER} ${PROJECT_BINARY_DIR}/which_mpi.c -o ${PROJECT_BINARY_DIR}/which_mpi -Wl,--trace
                      OUTPUT_VARIABLE _linked ERROR_QUIET)
      string(REGEX MATCH "[^ \n(]*/libmpi(ch)?(_[a-z0-9_]+)?\\.so[.0-9]*" _libraries "${_linked}")
    endif()
    if(NOT _include OR NOT _libraries)
      message(FATAL_ERROR "${CMAKE_C_COMPILER} does not say where its MPI lies: name its prefix, -DFANLIGHT_MPICH_ROOT= or -DFANLIGHT_OPENMPI_ROOT=")
    endif()
    list(GET _libraries 0 _first)
    set(FANLIGHT_${_abi}_INCLUDE ${_include} CACHE PATH "")
    set(FANLIGHT_${_abi}_LIBRARY ${_first} CACHE FILEPATH "")
  endif()
endif()

# The standard ABI's header comes with MPICH 5 and Intel MPI 2021.18 and newer.
if(NOT FANLIGHT_ABI_INCLUDE)
  foreach(root IN ITEMS ${FANLIGHT_MPICH_ROOT} ${FANLIGHT_IMPI_ROOT})
    if(EXISTS ${root}/include/mpi_abi.h)
      set(FANLIGHT_ABI_INCLUDE ${root}/include CACHE PATH "")
      file(GLOB _abi_library ${root}/lib/libmpi_abi.so.[0-9])
      set(FANLIGHT_ABI_LIBRARY "${_abi_library}" CACHE FILEPATH "")
      break()
    endif()
  endforeach()
endif()

foreach(abi IN ITEMS MPICH OPENMPI ABI)
  if(FANLIGHT_${abi}_INCLUDE)
    message(STATUS "Fanlight: ABI ${abi}: ${FANLIGHT_${abi}_INCLUDE}, ${FANLIGHT_${abi}_LIBRARY}")
  else()
    message(STATUS "Fanlight: ABI ${abi}: no MPI of this kind given, its preload is left out")
  endif()
endforeach()
