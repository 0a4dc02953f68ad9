// `message`: MPI_Isend and MPI_Irecv.
#include <algorithm>
#include <vector>

#include "collective/hooks.h"
#include "collective/private_communicator.h"
#include "collective/progress_hook.h"
#include "collective/transports.h"

namespace fanlight {

namespace {

// MPI's counts are int; what is longer goes in several messages, which do not overtake each other.
constexpr std::size_t longest = std::size_t{1} << 30;

constexpr int messages_of_one = static_cast<int>(RemoteTransport::most_messages);

class MessageTransport final : public RemoteTransport {
public:
    MessageTransport(std::shared_ptr<const PrivateCommunicator> comm, Slots slots) : comm_(std::move(comm)), slots_(slots) {}
    // Pending are only those of ranks that were mismatched.
    ~MessageTransport() override {
        for (auto* requests : {&round_, &offered_})
            for (MPI_Request& request : *requests) {
                mpi().Cancel(&request);
                mpi().Request_free(&request);
            }
    }

    RemoteRoom room() const override { return {}; }
    void begin() override {}

    void send(const RemoteMessage& m, const std::byte* from) override {
        auto& requests = m.offered ? offered_ : round_;
        in_parts(m.bytes, [&](std::size_t at, int bytes) {
            mpi().Isend(from + at, bytes, MPI_BYTE, m.peer, tag(m), *comm_, &requests.emplace_back());
        });
    }
    void receive(const RemoteMessage& m, std::byte* to) override {
        in_parts(m.bytes, [&](std::size_t at, int bytes) {
            mpi().Irecv(to + at, bytes, MPI_BYTE, m.peer, tag(m), *comm_, &round_.emplace_back());
        });
    }
    bool round_over(std::uint32_t) override { return over(round_); }
    bool operation_over(std::uint32_t) override { return over(offered_); }

    // A slot's next operation begins when this rank is through with the one before: messages of one tag
    // do not overtake each other.
    std::unique_ptr<RemoteTransport> for_operation(std::uint64_t number) override {
        const auto slot = slots_.first + static_cast<int>(number % static_cast<std::uint64_t>(slots_.number));
        return std::make_unique<MessageTransport>(comm_, Slots{slot, 1});
    }

    std::size_t operations_in_flight() const override { return static_cast<std::size_t>(slots_.number); }

private:
    int tag(const RemoteMessage& m) const {
        if (m.number >= most_messages) stop("more messages from one rank in an operation than there are tags");
        return slots_.first * messages_of_one + static_cast<int>(m.number);
    }
    template <class Part>
    static void in_parts(std::size_t bytes, Part&& part) {
        std::size_t at = 0;
        do {
            const std::size_t n = std::min(bytes - at, longest);
            part(at, static_cast<int>(n));
            at += n;
        } while (at < bytes);
    }
    static bool over(std::vector<MPI_Request>& requests) {
        if (requests.empty()) return true;
        int flag = 0;
        if (progress_hook::inside()) {
            std::erase_if(requests, [&](MPI_Request& request) {
                if (!progress_hook::is_over(request)) return false;
                mpi().Test(&request, &flag, MPI_STATUS_IGNORE);
                return true;
            });
            return requests.empty();
        }
        mpi().Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE);
        if (flag) requests.clear();
        return flag;
    }

    const std::shared_ptr<const PrivateCommunicator> comm_;
    const Slots slots_;
    std::vector<MPI_Request> round_, offered_;
};

}  // namespace

int message_slots() {
    int* most = nullptr;
    int found = 0;
    mpi().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    return found ? *most / messages_of_one : 0;
}

std::unique_ptr<RemoteTransport> make_message_transport(std::shared_ptr<const PrivateCommunicator> comm, Slots slots) {
    return std::make_unique<MessageTransport>(std::move(comm), slots);
}

}  // namespace fanlight
