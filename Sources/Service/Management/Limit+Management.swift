package import Rates

/// The limits of the management API.
extension Limit {
    /// How often one address may connect.
    package static let managementConnectRate = Limit("management-connect-rate")

    /// ``ManagementLimits/openConnections``, and all of them are busy or new.
    package static let managementConnections = Limit("management-connections")

    package static let ofManagement: [Limit] = [.managementConnectRate, .managementConnections]
}
