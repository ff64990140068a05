"""What mechanisms share: functions and small modules, none of which is a mechanism by itself."""
