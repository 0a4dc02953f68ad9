#include "schedule/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "schedule/matching.h"
#include "schedule/progress.h"

namespace fanlight {
namespace {

constexpr double column = 84;
constexpr double row = 78;
constexpr double left = 78;
constexpr double right = 40;
constexpr double legend = 46;
// Where in a row arrows begin and end.
constexpr double arrow_begin = 12;
constexpr double arrow_end = row - 12;
// Beyond so many arrows in a row, for each rank, labels would hide the picture.
constexpr double labeled_arrows_per_rank = 1.5;

// Okabe and Ito's colors, which color-blind people can tell apart; without the yellow.
constexpr std::array<const char*, 7> colors{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#e69f00", "#555555"};

struct Arrow {
    int from = 0;
    int to = 0;
    std::size_t from_row = 0;
    std::size_t to_row = 0;
    const Step* step = nullptr;   // the put or the get
    const Step* where = nullptr;  // the arrive or the get: where the bytes come to
};

// Gives each round of each rank its row: a round begins one row below the rank's round
// before it, and ends in the row of the latest round that it waits for.
class Rows : public Observer {
public:
    Rows(std::span<const Schedule> schedules, const Matching& matching)
        : schedules_(schedules), matching_(matching), begin_(schedules.size()), end_(schedules.size(), 0) {}

    void enter(int rank, std::uint32_t round) override {
        const auto r = static_cast<std::size_t>(rank);
        const Schedule& s = schedules_[r];
        // A round of local steps alone takes no row of its own.
        if (round > 0 && talks(s.round(round - 1))) ++end_[r];
        begin_[r].push_back(end_[r]);
        if (talks(s.round(round))) rows = std::max(rows, end_[r] + 1);
        const auto steps = s.round(round);
        if (std::any_of(steps.begin(), steps.end(),
                        [](const Step& step) { return step.kind == StepKind::combine; }))
            combines.push_back({rank, end_[r]});
    }
    void taken(const Message& m) override { wait(m.arrive.rank, m.put); }
    void got(const StepPlace& get) override { wait(get.rank, offer_of(get)); }
    void leave(int rank, std::uint32_t round) override {
        const auto r = static_cast<std::size_t>(rank);
        for (const Step& s : schedules_[r].round(round)) {
            const auto index = static_cast<std::size_t>(&s - schedules_[r].steps.data());
            if (s.kind == StepKind::arrive) {
                const StepPlace& put = matching_.messages[matching_.message_of[r][index]].put;
                const auto p = static_cast<std::size_t>(put.rank);
                arrows.push_back({put.rank, rank, begin_[p][put.round], end_[r],
                                  &schedules_[p].steps[put.step], &s});
            } else if (s.kind == StepKind::get) {
                arrows.push_back({s.peer, rank, end_[r], end_[r], &s, &s});
            }
        }
    }

    // Where a rank combines on its own.
    struct Place {
        int rank;
        std::size_t row;
    };

    std::size_t rows = 0;
    std::vector<Arrow> arrows;
    std::vector<Place> combines;

private:
    static bool talks(std::span<const Step> round) {
        return std::any_of(round.begin(), round.end(), [](const Step& s) {
            return s.kind == StepKind::put || s.kind == StepKind::arrive || s.kind == StepKind::get;
        });
    }
    StepPlace offer_of(const StepPlace& get) const {
        const Step& s = schedules_[static_cast<std::size_t>(get.rank)].steps[get.step];
        return matching_.offers[static_cast<std::size_t>(s.peer)][static_cast<std::size_t>(s.offer)];
    }
    void wait(int rank, const StepPlace& for_step) {
        auto& end = end_[static_cast<std::size_t>(rank)];
        end = std::max(end, begin_[static_cast<std::size_t>(for_step.rank)][for_step.round]);
        rows = std::max(rows, end + 1);
    }

    std::span<const Schedule> schedules_;
    const Matching& matching_;
    std::vector<std::vector<std::size_t>> begin_;
    std::vector<std::size_t> end_;  // of the current round, as far as it is known
};

std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", x);
    return text;
}

std::string attribute(const char* name, double value) {
    return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

std::string bytes_text(std::size_t bytes) {
    constexpr std::size_t k = 1024;
    if (bytes >= k * k && bytes % (k * k) == 0) return std::to_string(bytes / (k * k)) + " MiB";
    if (bytes >= k && bytes % k == 0) return std::to_string(bytes / k) + " KiB";
    return std::to_string(bytes) + " B";
}

class Picture {
public:
    Picture(std::span<const Schedule> schedules, const DrawOptions& options, const Rows& rows)
        : ranks_(schedules.size()), options_(options), rows_(rows) {
        top_ = options.title.empty() ? 44 : 78;
        top_ += 20 * static_cast<double>(options.topology.levels());
        width_ = left + column * static_cast<double>(ranks_ - 1) + right;
        width_ = std::max(width_, 420.0);
        bottom_ = top_ + row * static_cast<double>(rows.rows);
    }

    std::string svg() {
        const double height = bottom_ + legend;
        out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width_) + " " +
               number(height) + "\"" + attribute("width", width_) + attribute("height", height) +
               " font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n";
        if (!options_.title.empty()) out_ += "<title>" + escaped(options_.title) + "</title>\n";
        out_ += "<defs>\n";
        for (std::size_t c = 0; c < colors.size(); ++c)
            out_ += "<marker id=\"head" + std::to_string(c) +
                    "\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" "
                    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0.8 L8,4 L0,7.2 z\" fill=\"" +
                    colors[c] + "\"/></marker>\n";
        out_ += "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
        if (!options_.title.empty())
            text(width_ / 2, 30, escaped(options_.title), "font-size=\"16\" font-weight=\"bold\"");
        rows();
        ranks();
        for (const Arrow& a : rows_.arrows) arrow(a);
        for (const Rows::Place& c : rows_.combines) plus(x(c.rank), y(c.row), colors.size() - 1);
        // Labels behind all arrows, so that none is crossed out.
        for (const Arrow& a : rows_.arrows) label(a);
        explain();
        return out_ + "</svg>\n";
    }

private:
    double x(int rank) const { return left + column * rank; }
    double y(std::size_t r) const { return top_ + row * static_cast<double>(r); }

    void text(double at_x, double at_y, const std::string& what, const std::string& more) {
        out_ += "<text" + attribute("x", at_x) + attribute("y", at_y) + " text-anchor=\"middle\" " +
                more + ">" + what + "</text>\n";
    }

    void rows() {
        for (std::size_t r = 0; r < rows_.rows; ++r) {
            out_ += "<line" + attribute("x1", 8) + attribute("y1", y(r)) + attribute("x2", width_ - 8) +
                    attribute("y2", y(r)) + " stroke=\"#e4e4e4\"/>\n";
            text(28, y(r) + row / 2 + 4, "step " + std::to_string(r + 1),
                 std::string("fill=\"") + colors[r % colors.size()] + "\"");
        }
        out_ += "<line" + attribute("x1", 8) + attribute("y1", bottom_) + attribute("x2", width_ - 8) +
                attribute("y2", bottom_) + " stroke=\"#e4e4e4\"/>\n";
    }

    void ranks() {
        for (std::size_t i = 0; i < ranks_; ++i) {
            const auto r = static_cast<int>(i);
            for (int level = 0; level < options_.topology.levels(); ++level) domain(r, level);
            out_ += "<line" + attribute("x1", x(r)) + attribute("y1", top_) + attribute("x2", x(r)) +
                    attribute("y2", bottom_) + " stroke=\"#bbbbbb\"/>\n<circle" +
                    attribute("cx", x(r)) + attribute("cy", top_ - 15) +
                    " r=\"13\" fill=\"#ffffff\" stroke=\"#444444\"/>\n";
            text(x(r), top_ - 11, std::to_string(r), "fill=\"#222222\"");
        }
    }

    // A rank's column in its domain, the outer ones above the inner ones.
    void domain(int r, int level) {
        const int number = options_.topology.level(level).of(r);
        const double top = top_ - 50 - 20 * static_cast<double>(options_.topology.levels() - 1 - level);
        out_ += "<rect" + attribute("x", x(r) - column / 2 + 2) + attribute("y", top) + attribute("width", column - 4) +
                attribute("height", level == 0 ? bottom_ - top + 4 : 20) + " rx=\"4\" fill=\"" +
                (number % 2 == 0 ? "#0072b2" : "#e69f00") + "\" fill-opacity=\"0.07\"/>\n";
        text(x(r), top + 14, (level == 0 ? "node " : "") + std::to_string(number), "fill=\"#666666\" font-size=\"10\"");
    }

    struct Line {
        double x1, y1, x2, y2;
    };
    Line line_of(const Arrow& a) const {
        return {x(a.from), y(a.from_row) + arrow_begin, x(a.to), y(a.to_row) + arrow_end};
    }
    static std::size_t color_of(const Arrow& a) { return a.from_row % colors.size(); }

    void arrow(const Arrow& a) {
        const Line l = line_of(a);
        const std::size_t color = color_of(a);
        const bool combines = a.where->order != Order::overwrite;
        // The head ends at the edge of the circled plus.
        const double length = std::hypot(l.x2 - l.x1, l.y2 - l.y1);
        const double keep = combines && length > 0 ? 1 - 6 / length : 1;
        out_ += "<line" + attribute("x1", l.x1) + attribute("y1", l.y1) +
                attribute("x2", l.x1 + (l.x2 - l.x1) * keep) +
                attribute("y2", l.y1 + (l.y2 - l.y1) * keep) + " stroke=\"" + colors[color] +
                "\" stroke-width=\"1.4\"" +
                (a.step->bytes == 0 ? " stroke-dasharray=\"2.5 3\"" : "") + " marker-end=\"url(#head" +
                std::to_string(color) + ")\"/>\n";
        if (a.step->kind == StepKind::get) ring(l.x1, l.y1, color);
        if (combines) plus(l.x2, l.y2, color);
    }

    void ring(double cx, double cy, std::size_t color) {
        out_ += "<circle" + attribute("cx", cx) + attribute("cy", cy) +
                " r=\"3.2\" fill=\"#ffffff\" stroke=\"" + colors[color] + "\"/>\n";
    }

    void plus(double cx, double cy, std::size_t color) {
        out_ += "<g stroke=\"" + std::string(colors[color]) + "\" fill=\"#ffffff\"><circle" +
                attribute("cx", cx) + attribute("cy", cy) + " r=\"5.5\"/><path d=\"M" +
                number(cx - 3.5) + "," + number(cy) + "h7M" + number(cx) + "," + number(cy - 3.5) +
                "v7\"/></g>\n";
    }

    bool labels_wanted() const {
        if (options_.label == Label::nothing) return false;
        if (options_.label != Label::automatic) return true;
        std::vector<std::size_t> in_row(rows_.rows, 0);
        for (const Arrow& a : rows_.arrows) ++in_row[a.from_row];
        return std::all_of(in_row.begin(), in_row.end(), [&](std::size_t n) {
            return static_cast<double>(n) <= labeled_arrows_per_rank * static_cast<double>(ranks_);
        });
    }

    std::string label_text(const Step& s) const {
        const bool blocks = options_.label == Label::blocks ||
                            (options_.label == Label::automatic && options_.block > 0);
        if (!blocks) return bytes_text(s.bytes);
        // A user's buffer is divided into blocks; scratch is not, so look at the other side.
        const Address at = s.to.buffer == Buffer::output ? s.to : s.from;
        const std::size_t first = at.offset / options_.block;
        const std::size_t last = (at.offset + s.bytes - 1) / options_.block;
        return first == last ? std::to_string(first)
                             : std::to_string(first) + "-" + std::to_string(last);
    }

    void label(const Arrow& a) {
        if (a.step->bytes == 0 || !labels_wanted()) return;
        const Line l = line_of(a);
        // Arrows of a fan are farthest apart at its open end.
        const auto fan = std::count_if(rows_.arrows.begin(), rows_.arrows.end(), [&](const Arrow& b) {
            return b.from == a.from && b.from_row == a.from_row;
        });
        const double at = fan > 1 ? 0.62 : 0.42;
        const double lx = l.x1 + (l.x2 - l.x1) * at;
        const double ly = l.y1 + (l.y2 - l.y1) * at;
        double angle = std::atan2(l.y2 - l.y1, l.x2 - l.x1) * 180 / 3.14159265358979;
        if (angle > 90) angle -= 180;
        text(lx, ly - 4, label_text(*a.step),
             "font-size=\"10\" fill=\"" + std::string(colors[color_of(a)]) +
                 "\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\" transform=\"rotate(" +
                 number(angle) + " " + number(lx) + " " + number(ly) + ")\"");
    }

    // Names the marks that occur in this picture.
    void explain() {
        bool puts = false, gets = false, signals = false, combines = !rows_.combines.empty();
        for (const Arrow& a : rows_.arrows) {
            if (a.step->bytes == 0) signals = true;
            else if (a.step->kind == StepKind::get) gets = true;
            else puts = true;
            if (a.where->order != Order::overwrite) combines = true;
        }
        const std::size_t color = colors.size() - 1;
        const double at_y = bottom_ + 26;
        double at_x = 14;
        const auto entry = [&](const char* name, const char* dashes, bool ring_at_begin) {
            out_ += "<line" + attribute("x1", at_x) + attribute("y1", at_y) +
                    attribute("x2", at_x + 30) + attribute("y2", at_y) + " stroke=\"" +
                    colors[color] + "\" stroke-width=\"1.4\"" + dashes + " marker-end=\"url(#head" +
                    std::to_string(color) + ")\"/>\n";
            if (ring_at_begin) ring(at_x, at_y, color);
            text(at_x + 54, at_y + 4, name, "fill=\"#444444\" font-size=\"11\"");
            at_x += 96;
        };
        if (puts) entry("put", "", false);
        if (gets) entry("get", "", true);
        if (signals) entry("signal", " stroke-dasharray=\"2.5 3\"", false);
        if (combines) {
            plus(at_x + 8, at_y, color);
            text(at_x + 46, at_y + 4, "combined", "fill=\"#444444\" font-size=\"11\"");
        }
    }

    std::size_t ranks_;
    const DrawOptions& options_;
    const Rows& rows_;
    double top_, width_, bottom_;
    std::string out_;
};

}  // namespace

std::string draw_svg(std::span<const Schedule> schedules, const DrawOptions& options) {
    check_topology(schedules, options.topology);
    if (options.label == Label::blocks && options.block == 0)
        throw std::invalid_argument("labels with blocks need the length of a block");
    const Matching matching = match_or_throw(schedules);
    Rows rows(schedules, matching);
    run_to_end(schedules, matching, rows);
    return Picture(schedules, options, rows).svg();
}

}  // namespace fanlight
