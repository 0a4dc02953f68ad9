// `message`: MPI_Isend and MPI_Irecv.
#include <algorithm>
#include <vector>

#include "collective/private_communicator.h"
#include "collective/transports.h"

namespace fanlight {

namespace {

// MPI's counts are int; what is longer goes in several messages, which do not overtake each other.
constexpr std::size_t longest = std::size_t{1} << 30;

class MessageTransport final : public RemoteTransport {
public:
    explicit MessageTransport(MPI_Comm comm) : comm_(comm) {}

    RemoteRoom room() const override { return {}; }
    void begin() override {}

    void send(const RemoteMessage& m, const std::byte* from) override {
        auto& requests = m.offered ? offered_ : round_;
        in_parts(m.bytes, [&](std::size_t at, int bytes) {
            mpi().Isend(from + at, bytes, MPI_BYTE, m.peer, static_cast<int>(m.number), comm_, &requests.emplace_back());
        });
    }
    void receive(const RemoteMessage& m, std::byte* to) override {
        in_parts(m.bytes, [&](std::size_t at, int bytes) {
            mpi().Irecv(to + at, bytes, MPI_BYTE, m.peer, static_cast<int>(m.number), comm_, &round_.emplace_back());
        });
    }
    bool round_over(std::uint32_t) override { return over(round_); }
    bool operation_over(std::uint32_t) override { return over(offered_); }

private:
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
        mpi().Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE);
        if (flag) requests.clear();
        return flag;
    }

    PrivateCommunicator comm_;
    std::vector<MPI_Request> round_, offered_;
};

}  // namespace

std::unique_ptr<RemoteTransport> make_message_transport(MPI_Comm comm) {
    return std::make_unique<MessageTransport>(comm);
}

}  // namespace fanlight
