// The files behind shared segments: without a name (memfd), or in /dev/shm.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace fanlight {

inline std::error_code error_of(int number) { return {number, std::generic_category()}; }

class File {
public:
    File() = default;
    explicit File(int fd) : fd_(fd) {}
    File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    File& operator=(File&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~File() { close(); }
    explicit operator bool() const { return fd_ >= 0; }
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    void close();

private:
    int fd_ = -1;
};

// What others find one by: where its maker has it open, "memfd:PID:FD:NUMBER", or what it is called in
// /dev/shm.  The number is a random one.
struct SharedFile {
    File file;
    std::string name;
    std::uint64_t number = 0;
    bool in_dev_shm = false;
};

// Empty, and why, where there can be none.  Of this process: others find it as long as it is open.
SharedFile make_shared_file(bool in_dev_shm, std::error_code& error);
// The same, but without a name alone.
SharedFile make_unnamed_file(std::error_code& error);
// What one without a name is called.
std::string shared_file_name(pid_t maker, int fd, std::uint64_t number);
// One that another process of this user has made; see Segment::open.
SharedFile find_shared_file(const std::string& name, std::error_code& error);

// Beyond this limit the kernel would kill us by SIGXFSZ instead of returning an error.
bool beyond_limit(std::size_t bytes);
// Takes the memory of so many bytes of it; an error's number, or 0.
int reserve(const File&, std::size_t from, std::size_t bytes);

}  // namespace fanlight
