// Memory for packed copies, kept from call to call: fresh pages cost more than the copy.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace fanlight {

class Workspace {
public:
    enum Use { input, output, uses };

    std::byte* get(Use use, std::size_t bytes) {
        Piece& p = pieces_[use];
        if (p.bytes < bytes) {
            p.memory.reset(new (std::align_val_t{64}) std::byte[bytes]);
            p.bytes = bytes;
        }
        return p.memory.get();
    }
    bool used() const {
        for (const Piece& p : pieces_)
            if (p.bytes) return true;
        return false;
    }
    // Called when an operation is over: what was large is not kept.
    void trim() {
        for (Piece& p : pieces_)
            if (p.bytes > keep) p = {};
    }

private:
    static constexpr std::size_t keep = std::size_t{32} << 20;
    struct Free {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    struct Piece {
        std::unique_ptr<std::byte[], Free> memory;
        std::size_t bytes = 0;
    };
    Piece pieces_[uses];
};

}  // namespace fanlight
