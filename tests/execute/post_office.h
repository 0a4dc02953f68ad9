// Messages between ranks that are threads.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/remote.h"

namespace fanlight::testing {

class PostOffice {
public:
    using Label = std::tuple<int, int, std::uint64_t, std::uint32_t>;  // from, to, which operation's, number in it

    void post(const Label& label, std::vector<std::byte> letter) {
        const std::scoped_lock lock(mutex_);
        letters_[label].push_back(std::move(letter));
    }
    bool fetch(const Label& label, std::vector<std::byte>& letter) {
        const std::scoped_lock lock(mutex_);
        const auto it = letters_.find(label);
        if (it == letters_.end()) return false;
        letter = std::move(it->second.front());
        it->second.pop_front();
        if (it->second.empty()) letters_.erase(it);
        return true;
    }

private:
    std::mutex mutex_;
    std::map<Label, std::deque<std::vector<std::byte>>> letters_;
};

class Letters final : public RemoteTransport {
public:
    Letters(PostOffice& office, int rank, std::uint64_t slot = 0) : office_(office), rank_(rank), slot_(slot) {}
    RemoteRoom room() const override { return {}; }
    void begin() override {}
    void send(const RemoteMessage& m, const std::byte* from) override {
        office_.post({rank_, m.peer, slot_, m.number}, {from, from + m.bytes});
    }
    void receive(const RemoteMessage& m, std::byte* to) override { awaited_.emplace_back(m, to); }
    bool round_over(std::uint32_t) override {
        std::erase_if(awaited_, [this](const auto& one) {
            const auto& [m, to] = one;
            std::vector<std::byte> letter;
            if (!office_.fetch({m.peer, rank_, slot_, m.number}, letter)) return false;
            if (letter.size() != m.bytes) std::abort();
            if (m.bytes > 0) std::memcpy(to, letter.data(), m.bytes);
            return true;
        });
        return awaited_.empty();
    }
    bool operation_over(std::uint32_t) override { return true; }
    std::size_t operations_in_flight() const override { return 32; }
    std::unique_ptr<RemoteTransport> for_operation(std::uint64_t number) override {
        return std::make_unique<Letters>(office_, rank_, 1 + number % 32);
    }

private:
    PostOffice& office_;
    const int rank_;
    const std::uint64_t slot_;
    std::vector<std::pair<RemoteMessage, std::byte*>> awaited_;
};

}  // namespace fanlight::testing
