# Debian's cross compiler for 64-bit ARM (apt-get install g++-aarch64-linux-gnu), and the emulator that runs what it makes
# (qemu-user), if there is one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(FANLIGHT_QEMU_AARCH64 qemu-aarch64)
if(FANLIGHT_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${FANLIGHT_QEMU_AARCH64} -L /usr/aarch64-linux-gnu)
endif()
