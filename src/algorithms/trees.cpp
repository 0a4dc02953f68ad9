#include "algorithms/trees.h"

#include <algorithm>

namespace fanlight {
namespace {

struct Shape {
    int size;
    int root;

    // The ranks first .. first + width - 1, as far as they exist, as a subtree.
    Subtree group_at(int first, int width) const {
        const int count = std::clamp(size - first, 0, width);
        const bool holds_root = first <= root && root < first + count;
        return {holds_root ? root : first, first, count};
    }
    Subtree group_of(int rank, int width) const { return group_at(rank / width * width, width); }
};

Tree chain(int rank, const Shape& shape) {
    const int root = shape.root;
    const Subtree below{rank - 1, 0, rank};
    const Subtree above{rank + 1, rank + 1, shape.size - 1 - rank};
    Tree t;
    t.own = rank == root  ? Subtree{rank, 0, shape.size}
            : rank < root ? Subtree{rank, 0, rank + 1}
                          : Subtree{rank, rank, shape.size - rank};
    if (rank != root) t.parent = rank < root ? rank + 1 : rank - 1;
    if (rank <= root && below.count > 0) t.children.push_back(below);
    if (rank >= root && above.count > 0) t.children.push_back(above);
    return t;
}

Tree merged_groups(int degree, int rank, const Shape& shape) {
    Tree t;
    t.own = shape.group_of(rank, 1);
    // From groups of one on, for as long as this rank represents its group.
    for (int width = 1; width < shape.size;) {
        // Not beyond the size: a product of large numbers must not overflow.
        const int whole_width = width > shape.size / degree ? shape.size : width * degree;
        const Subtree whole = shape.group_of(rank, whole_width);
        if (whole.rank != rank) {
            t.parent = whole.rank;
            break;
        }
        const int own = rank / width * width;
        for (int first = own - width; first >= whole.first; first -= width)
            t.children.push_back(shape.group_at(first, width));
        for (int first = own + width; first < whole.first + whole.count; first += width)
            t.children.push_back(shape.group_at(first, width));
        t.own = whole;
        width = whole_width;
    }
    return t;
}

Tree without_parents(int degree, int rank, const Shape& shape) {
    return degree == 1 ? chain(rank, shape) : merged_groups(degree, rank, shape);
}

}  // namespace

std::vector<int> Tree::ranks_of_children() const {
    std::vector<int> ranks;
    for (const Subtree& child : children) ranks.push_back(child.rank);
    return ranks;
}

Tree tree(int degree, int rank, int size, int root) {
    const Shape shape{size, root};
    Tree t = without_parents(degree, rank, shape);
    if (t.parent >= 0) t.parents = without_parents(degree, t.parent, shape).own;
    return t;
}

Tree binary_tree(int rank, int first, int count) {
    Tree t;
    t.own = {first + count - 1, first, count};
    for (;;) {
        const int below = t.own.count - 1, near = below - below / 2;
        t.children.clear();
        if (near > 0) t.children.push_back({t.own.rank - 1, t.own.rank - near, near});
        if (below > near) t.children.push_back({t.own.rank - near - 1, t.own.first, below - near});
        if (t.own.rank == rank) return t;
        t.parents = t.own;
        t.parent = t.own.rank;
        t.own = rank >= t.children.front().first ? t.children.front() : t.children.back();
    }
}

Tree tree_for(const Problem& problem, int root, int default_degree) {
    const int degree = problem.parameters.degree > 0 ? problem.parameters.degree : default_degree;
    return tree(degree, problem.rank, problem.size, root);
}

}  // namespace fanlight
