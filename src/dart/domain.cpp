#include "dart/domain.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "dart/group.h"
#include "dart/status.h"

namespace fanlight::dart {

namespace {

template <class T>
T* array(std::size_t n) {
    return static_cast<T*>(std::calloc(std::max<std::size_t>(n, 1), sizeof(T)));
}

void remove(Domain& parent, int index) {
    std::copy(parent.children + index + 1, parent.children + parent.num_domains, parent.children + index);
    --parent.num_domains;
}

void copy_to(Domain& to, const Domain& from) {
    to = from;
    to.parent = nullptr;
    to.children = nullptr;
    to.num_domains = to.num_aliases = 0;
    to.aliases = nullptr;
    to.unit_ids = nullptr;
    std::vector<dart_unit_t> units;
    for (int i = 0; i < from.num_units; ++i) units.push_back(from.unit_ids[i].id);
    set_units(to, units);
    for (int i = 0; i < from.num_domains; ++i) {
        Domain* const child = new_domain();
        copy_to(*child, *from.children[i]);
        insert(to, child, i);
    }
}

// Whether `tag` is that of `domain` or of one above it.
bool lies_in(const std::string& domain, const std::string& tag) {
    return domain == tag || tag == "." || domain.starts_with(tag + ".");
}

std::string tag_of(const Domain& d) { return d.domain_tag; }

// Removes the children of whose subtree `keeps` says no.
void prune(Domain& d, const std::function<bool(const std::string&)>& keeps) {
    for (int i = d.num_domains - 1; i >= 0; --i) {
        Domain* const child = d.children[i];
        if (keeps(tag_of(*child))) {
            prune(*child, keeps);
        } else {
            remove(d, i);
            destroy(child);
        }
    }
    // Without its children it has no units either.
    if (d.num_domains == 0 && d.scope < DART_LOCALITY_SCOPE_CORE) set_units(d, {});
}

void select(Domain& d, const std::vector<std::string>& tags) {
    prune(d, [&](const std::string& tag) {
        return std::ranges::any_of(tags, [&](const std::string& t) { return lies_in(tag, t) || lies_in(t, tag); });
    });
}

void exclude(Domain& d, const std::vector<std::string>& tags) {
    prune(d, [&](const std::string& tag) {
        return std::ranges::none_of(tags, [&](const std::string& t) { return lies_in(tag, t); });
    });
}

void set_tag(Domain& child, const Domain& parent, int number) {
    const std::string tag = (tag_of(parent) == "." ? "" : tag_of(parent)) + "." + std::to_string(number);
    std::memset(child.domain_tag, 0, sizeof child.domain_tag);
    tag.copy(child.domain_tag, sizeof child.domain_tag - 1);
}

// The tags below it follow from the places.
void retag(Domain& d) {
    for (int i = 0; i < d.num_domains; ++i) {
        set_tag(*d.children[i], d, i);
        retag(*d.children[i]);
    }
}

void recount(Domain& d, std::map<int, int>& count_at_scope) {
    d.global_index = count_at_scope[d.scope]++;
    std::set<dart_unit_t> units;
    std::set<int> nodes;
    int cores = 0;
    for (int i = 0; i < d.num_domains; ++i) {
        Domain& child = *d.children[i];
        child.parent = &d;
        child.relative_index = i;
        child.level = d.level + 1;
        recount(child, count_at_scope);
        for (int k = 0; k < child.num_units; ++k) units.insert(child.unit_ids[k].id);
        if (child.node_id >= 0) nodes.insert(child.node_id);
        cores += child.num_cores;
    }
    if (d.num_domains == 0) return;
    set_units(d, {units.begin(), units.end()});
    d.num_nodes = static_cast<int>(nodes.size());
    d.node_id = nodes.size() == 1 ? *nodes.begin() : -1;
    // Units of one node share its cores.
    if (d.scope < DART_LOCALITY_SCOPE_NODE) d.num_cores = cores;
    d.is_symmetric = std::all_of(d.children, d.children + d.num_domains, [&](const Domain* c) {
        return c->num_cores == d.children[0]->num_cores && c->num_units == d.children[0]->num_units;
    });
}

}  // namespace

Domain* new_domain(dart_locality_scope_t scope) {
    Domain* const d = array<Domain>(1);
    d->scope = scope;
    d->node_id = -1;
    d->domain_tag[0] = '.';
    d->team = DART_TEAM_NULL;
    return d;
}

void clear(Domain& d) {
    for (int i = 0; i < d.num_domains; ++i) {
        clear(*d.children[i]);
        std::free(d.children[i]);
    }
    std::free(d.children);
    std::free(d.unit_ids);
    std::free(d.aliases);
    d.children = nullptr;
    d.unit_ids = nullptr;
    d.aliases = nullptr;
    d.num_domains = d.num_units = d.num_aliases = 0;
}

void insert(Domain& parent, Domain* child, int index) {
    auto** grown = array<Domain*>(static_cast<std::size_t>(parent.num_domains) + 1);
    index = std::clamp(index, 0, parent.num_domains);
    std::copy(parent.children, parent.children + index, grown);
    grown[index] = child;
    std::copy(parent.children + index, parent.children + parent.num_domains, grown + index + 1);
    std::free(parent.children);
    parent.children = grown;
    ++parent.num_domains;
    child->parent = &parent;
}

void set_units(Domain& d, const std::vector<dart_unit_t>& units) {
    std::free(d.unit_ids);
    d.unit_ids = array<dart_global_unit_t>(units.size());
    d.num_units = static_cast<int>(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) d.unit_ids[i].id = units[i];
}

void destroy(Domain* d) {
    clear(*d);
    std::free(d);
}

void recount(Domain& root) {
    std::map<int, int> count_at_scope;
    recount(root, count_at_scope);
}

void renew(Domain& root) {
    retag(root);
    recount(root);
}

Domain* find(Domain& root, const std::string& tag) {
    if (tag_of(root) == tag) return &root;
    for (int i = 0; i < root.num_domains; ++i)
        if (Domain* const found = find(*root.children[i], tag)) return found;
    return nullptr;
}

std::vector<Domain*> at_scope(Domain& root, dart_locality_scope_t scope) {
    if (root.scope == scope) return {&root};
    std::vector<Domain*> found;
    for (int i = 0; i < root.num_domains; ++i)
        for (Domain* d : at_scope(*root.children[i], scope)) found.push_back(d);
    return found;
}

namespace {

Domain& top(Domain& d) { return d.parent ? top(*d.parent) : d; }
// Whether the second is the first or lies in it.
bool contains(const Domain& d, const Domain& other) {
    return &d == &other || (other.parent && contains(d, *other.parent));
}
dart_ret_t no_domain(const char* function) { return invalid(function, "no domain, or a null pointer for the result"); }

// Joins these into at most n groups of nearly as many.
std::vector<std::vector<Domain*>> parts_of(const std::vector<Domain*>& domains, std::size_t n) {
    std::vector<std::vector<Domain*>> parts(std::min(n, domains.size()));
    for (std::size_t i = 0; i < domains.size(); ++i) parts[i * parts.size() / domains.size()].push_back(domains[i]);
    return parts;
}

}  // namespace
}  // namespace fanlight::dart

using namespace fanlight::dart;

dart_ret_t dart_domain_create(dart_domain_locality_t** result) {
    if (!result) return no_domain("dart_domain_create");
    *result = new_domain();
    return DART_OK;
}

dart_ret_t dart_domain_destroy(dart_domain_locality_t* domain) {
    if (!domain) return no_domain("dart_domain_destroy");
    if (domain->parent || is_of_team(domain))
        return invalid("dart_domain_destroy", "the domain goes with the one, or the team, that it belongs to");
    destroy(domain);
    return DART_OK;
}

dart_ret_t dart_domain_clone(const dart_domain_locality_t* domain, dart_domain_locality_t** copy) {
    if (!domain || !copy) return no_domain("dart_domain_clone");
    *copy = new_domain();
    copy_to(**copy, *domain);
    return DART_OK;
}

dart_ret_t dart_domain_assign(dart_domain_locality_t* to, const dart_domain_locality_t* from) {
    if (!to || !from || to == from) return no_domain("dart_domain_assign");
    // What is copied may lie in what is overwritten.
    Domain copy;
    copy_to(copy, *from);
    copy.parent = to->parent;
    if (to->parent) copy.relative_index = to->relative_index;
    clear(*to);
    *to = copy;
    for (int i = 0; i < to->num_domains; ++i) to->children[i]->parent = to;
    return DART_OK;
}

dart_ret_t dart_domain_find(const dart_domain_locality_t* domain, const char* tag, dart_domain_locality_t** found) {
    if (!domain || !tag || !found) return no_domain("dart_domain_find");
    *found = find(const_cast<Domain&>(*domain), tag);
    return *found ? DART_OK : DART_ERR_NOTFOUND;
}

dart_ret_t dart_domain_select(dart_domain_locality_t* domain, int count, const char** tags) {
    if (!domain || count < 0 || (count > 0 && !tags)) return no_domain("dart_domain_select");
    select(*domain, {tags, tags + count});
    recount(*domain);
    return DART_OK;
}

dart_ret_t dart_domain_exclude(dart_domain_locality_t* domain, int count, const char** tags) {
    if (!domain || count < 0 || (count > 0 && !tags)) return no_domain("dart_domain_exclude");
    exclude(*domain, {tags, tags + count});
    recount(*domain);
    return DART_OK;
}

dart_ret_t dart_domain_add_subdomain(dart_domain_locality_t* domain, dart_domain_locality_t* subdomain, int index) {
    if (!domain || !subdomain || subdomain->parent || is_of_team(subdomain) || subdomain == &top(*domain))
        return invalid("dart_domain_add_subdomain", "no domains, or one that belongs to another, or a team, or contains this one");
    insert(*domain, subdomain, index);
    renew(top(*domain));
    return DART_OK;
}

dart_ret_t dart_domain_move_subdomain(dart_domain_locality_t* domain, dart_domain_locality_t* parent, int index) {
    if (!domain || !parent || !domain->parent) return no_domain("dart_domain_move_subdomain");
    for (const Domain* d = parent; d; d = d->parent)
        if (d == domain) return invalid("dart_domain_move_subdomain", "a domain cannot lie in itself");
    Domain& before = *domain->parent;
    remove(before, domain->relative_index);
    insert(*parent, domain, index);
    renew(top(before));
    renew(top(*parent));
    return DART_OK;
}

dart_ret_t dart_domain_split_scope(const dart_domain_locality_t* domain, dart_locality_scope_t scope, int count,
                                   dart_domain_locality_t* split) {
    if (!domain || !split || count < 1) return no_domain("dart_domain_split_scope");
    const std::vector<Domain*> domains = at_scope(const_cast<Domain&>(*domain), scope);
    if (domains.empty()) return DART_ERR_NOTFOUND;
    auto parts = parts_of(domains, static_cast<std::size_t>(count));
    parts.resize(static_cast<std::size_t>(count));
    for (const auto& part : parts) {
        std::vector<std::string> tags;
        for (const Domain* d : part) tags.push_back(tag_of(*d));
        copy_to(*split, *domain);
        select(*split, tags);
        recount(*split++);
    }
    return DART_OK;
}

dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t* domain, dart_locality_scope_t scope, int* count,
                                     dart_domain_locality_t*** domains) {
    if (!domain || !count || !domains) return no_domain("dart_domain_scope_domains");
    const std::vector<Domain*> found = at_scope(const_cast<Domain&>(*domain), scope);
    *count = static_cast<int>(found.size());
    *domains = found.empty() ? nullptr : array<Domain*>(found.size());
    std::ranges::copy(found, *domains);
    return found.empty() ? DART_ERR_NOTFOUND : DART_OK;
}

dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t* domain, dart_locality_scope_t scope, int* count,
                                  char*** tags) {
    if (!domain || !count || !tags) return no_domain("dart_domain_scope_tags");
    const std::vector<Domain*> found = at_scope(const_cast<Domain&>(*domain), scope);
    *count = static_cast<int>(found.size());
    *tags = found.empty() ? nullptr : array<char*>(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) (*tags)[i] = ::strdup(found[i]->domain_tag);
    return found.empty() ? DART_ERR_NOTFOUND : DART_OK;
}

dart_ret_t dart_domain_group(dart_domain_locality_t* domain, int count, const char** tags, char* group_tag) {
    if (!domain || count < 1 || !tags || !group_tag) return no_domain("dart_domain_group");
    std::vector<Domain*> members;
    std::vector<std::string> member_tags(tags, tags + count);
    for (const std::string& tag : member_tags) {
        Domain* const d = find(*domain, tag);
        if (!d) return DART_ERR_NOTFOUND;
        if (d == domain || std::ranges::any_of(members, [&](Domain* m) { return contains(*m, *d) || contains(*d, *m); }))
            return invalid("dart_domain_group", "the domains of a group lie below the domain, and apart from each other");
        members.push_back(d);
    }
    Domain* parent = members[0]->parent;
    for (const Domain* d : members)
        while (!contains(*parent, *d) || parent == d) parent = parent->parent;

    // The others keep their tags: the group's is a new one.
    Domain* const group = new_domain(DART_LOCALITY_SCOPE_GROUP);
    group->team = parent->team;
    int number = 0;
    for (int i = 0; i < parent->num_domains; ++i) {
        const std::string tag = tag_of(*parent->children[i]);
        number = std::max(number, std::atoi(tag.c_str() + tag.rfind('.') + 1) + 1);
    }
    set_tag(*group, *parent, number);
    for (int i = parent->num_domains - 1; i >= 0; --i) {
        Domain* const child = parent->children[i];
        if (std::ranges::find(members, child) != members.end()) {
            remove(*parent, i);
            insert(*group, child, 0);
        } else if (std::ranges::any_of(members, [&](Domain* m) { return contains(*child, *m); })) {
            Domain* const part = new_domain();
            copy_to(*part, *child);
            select(*part, member_tags);
            insert(*group, part, 0);
            exclude(*child, member_tags);
        }
    }
    insert(*parent, group, parent->num_domains);
    retag(*group);
    recount(top(*domain));
    std::memcpy(group_tag, group->domain_tag, sizeof group->domain_tag);
    return DART_OK;
}

dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t* domain,
                                     dart_locality_scope_t scope, size_t n, size_t* nout, dart_group_t* parts) {
    if (!group || !domain || n == 0 || !nout || !parts) return no_domain("dart_group_locality_split");
    *nout = 0;
    for (const auto& part : parts_of(at_scope(*domain, scope), n)) {
        auto* made = new dart_group_struct;
        for (const Domain* d : part)
            for (int i = 0; i < d->num_units; ++i)
                if (group->units.contains(d->unit_ids[i].id)) made->units.insert(d->unit_ids[i].id);
        if (made->units.empty()) delete made;
        else parts[(*nout)++] = made;
    }
    return *nout > 0 ? DART_OK : DART_ERR_NOTFOUND;
}
