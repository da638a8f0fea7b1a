extension HTTP2Session {
    /// Makes a session for a channel that is active or becomes active later.
    package static func make(
        role: Role,
        configuration: HTTP2Configuration,
        application: any HTTP2Application
    ) -> HTTP2Session {
        switch configuration.implementation {
        #if Service
            case .library: LibrarySession(role: role, configuration: configuration, application: application)
        #endif
        case .core: CoreSession(role: role, configuration: configuration, application: application)
        }
    }
}
