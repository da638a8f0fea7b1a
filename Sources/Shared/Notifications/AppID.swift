/// A short number that names an app. Device tokens contain it in place of the bundle ID.
package struct AppID: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    // Written by hand, because the compiler's version is slow for types with a raw value: it calls through witness
    // tables (Swift 6.3).
    package static func == (left: AppID, right: AppID) -> Bool { left.rawValue == right.rawValue }
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
