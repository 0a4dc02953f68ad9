// Tests on a folder that stands for one of the system's.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fanlight {

class OnFolder : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "fanlight-folder-XXXXXX";
        root_ = mkdtemp(pattern.data());
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void write(const std::filesystem::path& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }

    std::filesystem::path root_;
};

}  // namespace fanlight
