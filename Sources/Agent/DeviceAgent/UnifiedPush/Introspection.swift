/// The standard interfaces of the distributor's object (the D-Bus Specification, "Standard Interfaces").
enum Introspection {
    private static let document = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
          <interface name="org.unifiedpush.Distributor1">
            <method name="Register">
              <arg name="service" type="s" direction="in"/><arg name="token" type="s" direction="in"/>
              <arg name="description" type="s" direction="in"/>
              <arg name="result" type="s" direction="out"/><arg name="reason" type="s" direction="out"/>
            </method>
            <method name="Unregister"><arg name="token" type="s" direction="in"/></method>
          </interface>
          <interface name="org.unifiedpush.Distributor2">
            <method name="Register">
              <arg name="args" type="a{sv}" direction="in"/><arg name="result" type="a{sv}" direction="out"/>
            </method>
            <method name="Unregister">
              <arg name="args" type="a{sv}" direction="in"/><arg name="result" type="a{sv}" direction="out"/>
            </method>
          </interface>
          <interface name="org.freedesktop.DBus.Introspectable">
            <method name="Introspect"><arg name="xml_data" type="s" direction="out"/></method>
          </interface>
          <interface name="org.freedesktop.DBus.Peer"><method name="Ping"/></interface>
        </node>
        """

    /// - Returns: nil if it is a call of another interface.
    static func answer(to call: BusMessage) -> BusMessage? {
        switch (call.interface, call.member) {
        case ("org.freedesktop.DBus.Peer", "Ping"): return .answer(to: call)
        case ("org.freedesktop.DBus.Introspectable", "Introspect") where call.path == Distributor.path:
            var answer = BusMessage.answer(to: call)
            answer.signature = "s"
            answer.body.write(document)
            return answer
        default: return nil
        }
    }
}
