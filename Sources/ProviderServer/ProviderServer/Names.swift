import APNSProvider

// Two of the imported modules have a type with this name, so this file selects one.

/// The device token as a provider knows it: opaque bytes of any length.
typealias DeviceToken = APNSProvider.DeviceToken
