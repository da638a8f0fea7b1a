/// The name of a limit, as in docs/settings.md and docs/metrics.md. Each target defines the limits that it enforces,
/// and lists them for the metrics.
package struct Limit: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(_ name: String) { self.init(rawValue: name) }
}

/// A limit that no metric counts needs its name in one place only, its ``LimitSetting``.
extension Limit: ExpressibleByStringLiteral {
    package init(stringLiteral name: String) { self.init(rawValue: name) }
}
