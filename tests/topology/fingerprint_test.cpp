#include "topology/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

#include "machine_files.h"

namespace fanlight {
namespace {

namespace fs = std::filesystem;

class FingerprintFiles : public FolderOfAMachine {
protected:
    void SetUp() override {
        FolderOfAMachine::SetUp();
        two_packages();
        write("cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: Another");
    }
    Fingerprint of(const Cpus& own, const char* mpi = "MPICH Version:      5.0.2\nMPICH Release date: 4 of 2026") { return fingerprint(mpi, own, root_, root_); }
};

TEST_F(FingerprintFiles, Parts) {
    const Fingerprint f = of({0});
    EXPECT_EQ(f.processor, "Some CPU @ 2 GHz");
    EXPECT_EQ(f.domains, "2 packages, 4 NUMA domains, 8 L3 of 16M, 16 cores, 16 CPUs");
    EXPECT_EQ(f.mpi, "mpich 5.0.2");
    EXPECT_EQ(f.kernel.find("Linux "), 0u);
    EXPECT_EQ(f.name(), "mpich-5.0.2-core-" + f.machine());
}

TEST_F(FingerprintFiles, Binding) {
    EXPECT_EQ(of({0}).binding, "core");
    EXPECT_EQ(of({0, 1}).binding, "L3");
    EXPECT_EQ(of({0, 1, 2, 3}).binding, "NUMA");
    EXPECT_EQ(of({0, 1, 2, 3, 4, 5, 6, 7}).binding, "package");
    EXPECT_EQ(of({0, 15}).binding, "part");
    EXPECT_EQ(of({}).binding, "unbound");
    EXPECT_EQ(of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}).binding, "unbound");
}

TEST_F(FingerprintFiles, Libraries) {
    EXPECT_EQ(of({0}, "Intel(R) MPI Library 2021.18 for Linux* OS").mpi, "impi 2021.18");
    EXPECT_EQ(of({0}, "Open MPI v5.0.11, package: Open MPI root@x Distribution").mpi, "openmpi 5.0.11");
    EXPECT_EQ(of({0}, "MVAPICH Version : 4.0").mpi, "mvapich 4.0");
    EXPECT_EQ(of({0}, "MPI VERSION    : CRAY MPICH version 8.1.27.4 (ANL base 3.4a2)").mpi, "cray 8.1.27.4");
    EXPECT_EQ(of({0}, "something").mpi, "other");
}

// Another machine, another name: each of its parts counts.
TEST_F(FingerprintFiles, Machines) {
    const std::string before = of({0}).machine();
    EXPECT_EQ(of({3}, "Open MPI v5.0.11").machine(), before);
    write("cpuinfo", "model name\t: Another CPU");
    const std::string other_model = of({0}).machine();
    EXPECT_NE(other_model, before);
    write("cpu/online", "0-7");
    EXPECT_NE(of({0}).machine(), other_model);
}

TEST_F(FingerprintFiles, Arm) {
    write("cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40");
    EXPECT_NE(of({0}).processor.find("0x41 0xd40"), std::string::npos);
}

TEST_F(FingerprintFiles, WhereTheRulesAre) {
    const std::string name = fingerprint("MPICH Version: 5.0.2", {}).name() + ".rules";
    setenv("XDG_CONFIG_HOME", root_.c_str(), 1);
    const auto found = [](const std::string& setting) { return tuned_file(setting, "MPICH Version: 5.0.2", {}).string(); };
    EXPECT_EQ(found("auto"), "");
    write("fanlight/tuned/" + name, "");
    write("elsewhere/" + name, "");
    const std::string root = root_.string();
    EXPECT_EQ(found("auto"), root + "/fanlight/tuned/" + name);
    EXPECT_EQ(found("off"), "");
    EXPECT_EQ(found(root + "/elsewhere"), root + "/elsewhere/" + name);
    EXPECT_EQ(found(root + "/any.rules"), root + "/any.rules");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", root_.c_str(), 1);
    EXPECT_EQ(found("auto"), "");
    write(".config/fanlight/tuned/" + name, "");
    EXPECT_EQ(found("auto"), root + "/.config/fanlight/tuned/" + name);
}

}  // namespace
}  // namespace fanlight
