/// A limit that somebody can exceed, by the name that docs/settings.md and docs/metrics.md have for it. Each target names
/// those that it keeps, and lists them for whoever counts them.
package struct Limit: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(_ name: String) { self.init(rawValue: name) }
}
