package import Rates

/// The limits of the management API.
extension Limit {
    /// How often one address may connect.
    package static let managementConnectRate = Limit("management-connect-rate")

    package static let ofManagement: [Limit] = [.managementConnectRate]
}
