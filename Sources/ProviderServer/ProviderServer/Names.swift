import APNSProvider
import CampaignStore

// Names for types that another type hides.

/// The device token as a provider knows it: opaque bytes of any length.
typealias DeviceToken = APNSProvider.DeviceToken

/// The store's values whose messages in ``ProviderMessages`` have the same names.
typealias HookRecord = Hook
typealias InstallationRecord = Installation
typealias SavedAudienceRecord = SavedAudience
