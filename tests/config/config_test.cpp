#include "config/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parse.h"

namespace fanlight {
namespace {

// The environment of one test: nothing of Fanlight's but what the test sets.
class ConfigTest : public testing::Test {
protected:
    void SetUp() override { clear(); }
    void TearDown() override { clear(); }

    static void clear() {
        std::vector<std::string> names;
        for (char** e = environ; *e; ++e) {
            const std::string entry = *e;
            if (entry.starts_with("FANLIGHT")) names.push_back(entry.substr(0, entry.find('=')));
        }
        for (const std::string& n : names) unsetenv(n.c_str());
    }
    static std::string error() {
        try {
            read_config();
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    }
    static std::string error_with(const char* variable, const char* value) {
        setenv(variable, value, 1);
        const std::string e = error();
        unsetenv(variable);
        return e;
    }
};

TEST_F(ConfigTest, DefaultsComeFromTheTable) {
    const Config c = read_config();
    EXPECT_TRUE(c.enabled);
    EXPECT_EQ(c.wait, "auto");
    EXPECT_EQ(c.rules, "");
    EXPECT_FALSE(settings().empty());
    for (const Setting& s : settings()) {
        EXPECT_TRUE(s.variable.starts_with("FANLIGHT")) << s.variable;
        EXPECT_FALSE(s.help.empty()) << s.variable;
        EXPECT_EQ(s.default_text.find('"'), std::string_view::npos) << s.variable;
    }
}

TEST_F(ConfigTest, WhatRanksMustHaveInCommonIsAPropertyOfEachSetting) {
    const auto value = [](std::string_view variable, bool& same) {
        for (const Setting& s : settings())
            if (s.variable == variable) return same = s.same, s.value(read_config());
        return std::string("no setting");
    };
    setenv("FANLIGHT", "off", 1);
    setenv("FANLIGHT_START_AFTER", "4", 1);
    setenv("FANLIGHT_PIECE", "64K", 1);
    setenv("FANLIGHT_RULES", "rules.txt", 1);
    setenv("FANLIGHT_WAIT", "yield", 1);
    bool same = false;
    EXPECT_EQ(value("FANLIGHT", same), "0");
    EXPECT_TRUE(same);
    EXPECT_EQ(value("FANLIGHT_START_AFTER", same), "4");
    EXPECT_TRUE(same);
    EXPECT_EQ(value("FANLIGHT_PIECE", same), "65536");
    EXPECT_TRUE(same);
    EXPECT_EQ(value("FANLIGHT_RULES", same), "rules.txt");
    EXPECT_TRUE(same);
    EXPECT_EQ(value("FANLIGHT_WAIT", same), "yield");
    EXPECT_FALSE(same);
}

TEST_F(ConfigTest, ReadsEveryType) {
    setenv("FANLIGHT", "off", 1);
    setenv("FANLIGHT_START_AFTER", "3", 1);
    setenv("FANLIGHT_SINGLE_COPY_FROM", "64K", 1);
    setenv("FANLIGHT_WAITING_REPORT", "0.5", 1);
    setenv("FANLIGHT_ALGORITHM", "bcast:binomial", 1);
    const Config c = read_config();
    EXPECT_FALSE(c.enabled);
    EXPECT_EQ(c.start_after, 3);
    EXPECT_EQ(c.single_copy_from, 65536u);
    EXPECT_EQ(c.waiting_report, 0.5);
    EXPECT_EQ(c.algorithm, "bcast:binomial");
    EXPECT_TRUE(unknown_variables().empty());
}

TEST_F(ConfigTest, TheHeapIsOffByAnyBoolean) {
    EXPECT_EQ(read_config().heap, "auto");
    for (const char* off : {"off", "no", "0"}) {
        setenv("FANLIGHT_HEAP", off, 1);
        EXPECT_EQ(read_config().heap, "off") << off;
    }
}

TEST_F(ConfigTest, NothingIsTheSameAsNotSet) {
    setenv("FANLIGHT_START_AFTER", "", 1);
    EXPECT_EQ(read_config().start_after, Config{}.start_after);
}

TEST_F(ConfigTest, AWrongValueNamesVariableValueAndWhatIsAllowed) {
    EXPECT_EQ(error_with("FANLIGHT_START_AFTER", "soon"),
              "FANLIGHT_START_AFTER=soon: expected a whole number that is not negative");
    EXPECT_EQ(error_with("FANLIGHT_WAIT", "poll"),
              "FANLIGHT_WAIT=poll: expected one of auto spin yield sleep");
    EXPECT_EQ(error_with("FANLIGHT_SINGLE_COPY", "always"),
              "FANLIGHT_SINGLE_COPY=always: expected one of auto on off");
    EXPECT_EQ(error_with("FANLIGHT_CORES", "-1"),
              "FANLIGHT_CORES=-1: expected a whole number that is not negative");
    EXPECT_EQ(error_with("FANLIGHT_NODE_UNITS", "-3"), "FANLIGHT_NODE_UNITS=-3: expected a whole number that is not negative");
    EXPECT_EQ(error_with("FANLIGHT_TRACE_EVENTS", "-1"), "FANLIGHT_TRACE_EVENTS=-1: expected a whole number that is not negative");
    setenv("FANLIGHT_GPU", "stage", 1);
    EXPECT_EQ(error_with("FANLIGHT_START_AFTER", "-5"), "FANLIGHT_START_AFTER=-5: expected a whole number that is not negative");
    EXPECT_EQ(read_config().start_after, 0);
    unsetenv("FANLIGHT_GPU");
    EXPECT_EQ(error_with("FANLIGHT_HEAP", "none"), "FANLIGHT_HEAP=none: expected one of auto shared off");
    for (const char* bad : {"maybe", "2", " 1"}) EXPECT_NE(error_with("FANLIGHT", bad), "") << bad;
    for (const char* bad : {"64Q", "K", "-4K", "1.5M", "64 K", "99999999999G", "0x10"})
        EXPECT_NE(error_with("FANLIGHT_PIECE", bad), "") << bad;
    for (const char* bad : {"-1", "nan", "inf", "30s", "1e999"})
        EXPECT_NE(error_with("FANLIGHT_WAITING_REPORT", bad), "") << bad;
    EXPECT_EQ(error(), "");
}

TEST_F(ConfigTest, AnUnknownVariableGetsTheNearestName) {
    setenv("FANLIGHT_ALGORITM", "bcast:binomial", 1);
    ASSERT_EQ(unknown_variables().size(), 1u);
    EXPECT_EQ(unknown_variables()[0],
              "FANLIGHT_ALGORITM is not a setting (do you mean FANLIGHT_ALGORITHM?); "
              "`fanlight info` lists all settings");
    setenv("FANLIGHT_ALGORITM", "", 1);
    EXPECT_EQ(unknown_variables().size(), 1u);
    unsetenv("FANLIGHT_ALGORITM");
    setenv("FANLIGHT_XYZZYPLUGH", "1", 1);
    ASSERT_EQ(unknown_variables().size(), 1u);
    EXPECT_EQ(unknown_variables()[0].find("do you mean"), std::string::npos);
}

// In a process of its own, since config() reads once.
TEST_F(ConfigTest, TheProgramGoesOnWithTheDefaultAndSaysSo) {
    setenv("FANLIGHT_WAIT", "poll", 1);
    setenv("FANLIGHT_PIECE", "big", 1);
    setenv("FANLIGHT_START_AFTER", "5", 1);
    setenv("FANLIGHT_WIAT", "spin", 1);
    EXPECT_EXIT(
        {
            const Config& c = config();
            _exit(c.wait == "auto" && c.piece == Config{}.piece && c.start_after == 5 ? 0 : 1);
        },
        testing::ExitedWithCode(0),
        "FANLIGHT_PIECE=big: expected a number of bytes.*its default is used\n"
        "fanlight: FANLIGHT_WAIT=poll.*its default is used\n"
        "fanlight: FANLIGHT_WIAT is not a setting .do you mean FANLIGHT_WAIT.");
}

// In a process of its own, since what is set once is set for good.
int set_by_the_program() {
    const auto setting = [](std::string_view variable) -> const Setting& {
        for (const Setting& s : settings())
            if (s.variable == variable) return s;
        std::abort();
    };
    setenv("FANLIGHT_START_AFTER", "7", 1);
    if (present_config().start_after != 7) return 1;
    if (!set(setting("FANLIGHT_START_AFTER"), "9") || !set(setting("FANLIGHT_WAIT"), "spin")) return 2;
    if (present_config().start_after != 9 || std::string_view(getenv("FANLIGHT_START_AFTER")) != "7") return 3;
    for (const auto& [variable, wrong] : {std::pair("FANLIGHT_WAIT", "standing"), {"FANLIGHT_START_AFTER", "-1"}, {"FANLIGHT_PIECE", "long"}}) {
        try {
            set(setting(variable), wrong);
            return 4;
        } catch (const std::invalid_argument& e) {
            if (std::string_view(e.what()).find(wrong) == std::string_view::npos) return 5;
        }
    }
    if (config().start_after != 9 || config().wait != "spin" || config().piece != 0) return 6;
    if (set(setting("FANLIGHT_START_AFTER"), "3") || present_config().start_after != 9) return 7;
    return 0;
}

TEST_F(ConfigTest, AProgramSetsThemUntilTheyAreRead) {
    const pid_t child = fork();
    if (child == 0) _exit(set_by_the_program());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Parse, Bytes) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("4096"), 4096u);
    EXPECT_EQ(parse_bytes("2k"), 2048u);
    EXPECT_EQ(parse_bytes("3G"), std::size_t{3} << 30);
    EXPECT_FALSE(parse_bytes(""));
    EXPECT_FALSE(parse_bytes("M"));
    EXPECT_FALSE(parse_bytes("18446744073709551615K"));
}

}  // namespace
}  // namespace fanlight
