/// The service's own short name for an app, which device tokens carry in the place of its bundle ID.
package struct AppID: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    // Written out, because the compiler's own go through tables of functions where a type has a raw value (Swift 6.3).
    package static func == (left: AppID, right: AppID) -> Bool { left.rawValue == right.rawValue }
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
