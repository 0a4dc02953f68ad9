#include "schedule/draw.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "samples.h"

namespace fanlight {
namespace {

std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

// Pictures to look at: FANLIGHT_TEST_PICTURES=folder.
void keep(const std::string& name, const std::string& svg) {
    if (const char* folder = std::getenv("FANLIGHT_TEST_PICTURES"))
        std::ofstream(std::string(folder) + "/" + name + ".svg") << svg;
}

TEST(draw, one_arrow_for_each_message) {
    const auto s = samples::chain_broadcast(4, 8);
    const std::string svg = draw_svg(s.ranks, {.title = "chain <4 & more>"});
    keep("chain", svg);
    EXPECT_EQ(svg.rfind("<svg", 0), 0u);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    EXPECT_NE(svg.find("chain &lt;4 &amp; more&gt;"), std::string::npos);
    EXPECT_EQ(occurrences(svg, ">8 B<"), 3u);
    EXPECT_EQ(occurrences(svg, ">step "), 3u);
    EXPECT_EQ(occurrences(svg, "marker-end"), 3u + 1u);  // and the legend's
}

TEST(draw, marks) {
    const std::string reduce =
        draw_svg(samples::linear_allreduce(4, 2048, 8).ranks, {.title = "linear allreduce"});
    keep("allreduce", reduce);
    EXPECT_NE(reduce.find(">combined<"), std::string::npos);
    EXPECT_NE(reduce.find(">get<"), std::string::npos);
    EXPECT_EQ(occurrences(reduce, ">2 KiB<"), 6u);
    EXPECT_EQ(reduce.find(">signal<"), std::string::npos);
    const std::string barrier = draw_svg(samples::signal_barrier(4).ranks);
    keep("barrier", barrier);
    EXPECT_EQ(occurrences(barrier, "stroke-dasharray"), 12u + 1u);
}

TEST(draw, blocks_and_nodes) {
    const std::string svg =
        draw_svg(samples::direct_alltoall(4, 8).ranks,
                 {.title = "alltoall", .label = Label::blocks, .block = 8, .topology = Topology::from("2x2", 4)});
    keep("alltoall", svg);
    EXPECT_EQ(occurrences(svg, ">node 0<"), 2u);
    EXPECT_EQ(occurrences(svg, "font-size=\"10\" fill=\"#0072b2\""), 12u);
}

TEST(draw, too_many_labels_are_left_out) {
    const auto s = samples::direct_alltoall(8, 8);
    EXPECT_EQ(occurrences(draw_svg(s.ranks), ">8 B<"), 0u);
    EXPECT_EQ(occurrences(draw_svg(s.ranks, {.label = Label::bytes}), ">8 B<"), 56u);
}

// How far along the first arrow its label stands.
double label_along_arrow(const std::string& svg) {
    std::smatch arrow, label;
    EXPECT_TRUE(std::regex_search(svg, arrow, std::regex("<line x1=\"([0-9.]+)\"[^>]* x2=\"([0-9.]+)\"[^>]*marker-end")));
    EXPECT_TRUE(std::regex_search(svg, label, std::regex("<text x=\"([0-9.]+)\"[^>]*font-size=\"10\" fill")));
    const double begin = std::stod(arrow[1]), end = std::stod(arrow[2]);
    return (std::stod(label[1]) - begin) / (end - begin);
}

TEST(draw, labels_do_not_meet) {
    EXPECT_LT(label_along_arrow(draw_svg(samples::chain_broadcast(2, 8).ranks)), 0.5);
    EXPECT_GT(label_along_arrow(draw_svg(samples::direct_alltoall(3, 8).ranks, {.label = Label::bytes})), 0.5) << "where a fan is wider";
}

TEST(draw, one_rank) {
    EXPECT_NE(draw_svg(samples::signal_barrier(1).ranks).find("</svg>"), std::string::npos);
}

TEST(draw, says_what_is_wrong) {
    auto s = samples::chain_broadcast(3, 8);
    EXPECT_THROW(draw_svg(s.ranks, {.label = Label::blocks}), std::invalid_argument);
    samples::erase(s.ranks[1], samples::find(s.ranks[1], StepKind::put));
    EXPECT_THROW(draw_svg(s.ranks), std::invalid_argument);
}

}  // namespace
}  // namespace fanlight
